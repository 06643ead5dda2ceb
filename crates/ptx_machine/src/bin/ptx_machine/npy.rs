//! Buffers in `.npy` files, as bytes with a dtype and a shape.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use npyz::{DType, DTypeError, Deserialize, Endianness, NpyFile, Order, Serialize, TypeRead, TypeStr, TypeWrite};
use npyz::{WriteOptions, WriterBuilder};
use ptx_machine::Memory;

use crate::output::WholeFile;

/// Largest element, a complex f64.
const MOST: usize = 16;

/// One number of whatever type, as its bytes.
#[derive(Debug, Clone, Copy)]
struct Element([u8; MOST]);

/// Reads and writes elements of so many bytes.
struct Bytes(usize);

fn element_bytes(dtype: &DType) -> Result<usize, DTypeError> {
    match dtype {
        DType::Plain(ty) if ty.endianness() == Endianness::Big => {
            Err(DTypeError::custom("is big-endian; allowed: little-endian"))
        }
        DType::Plain(ty) => match ty.num_bytes() {
            Some(bytes) if bytes <= MOST => Ok(bytes),
            _ => Err(DTypeError::custom("has elements that are no numbers")),
        },
        _ => Err(DTypeError::custom("has records; allowed: numbers")),
    }
}

impl TypeRead for Bytes {
    type Value = Element;

    fn read_one<R: Read>(&self, mut reader: R) -> std::io::Result<Element> {
        let mut element = Element([0; MOST]);
        reader.read_exact(&mut element.0[..self.0])?;
        Ok(element)
    }
}

impl TypeWrite for Bytes {
    type Value = Element;

    fn write_one<W: Write>(&self, mut writer: W, element: &Element) -> std::io::Result<()> {
        writer.write_all(&element.0[..self.0])
    }
}

impl Deserialize for Element {
    type TypeReader = Bytes;

    fn reader(dtype: &DType) -> Result<Bytes, DTypeError> {
        element_bytes(dtype).map(Bytes)
    }
}

impl Serialize for Element {
    type TypeWriter = Bytes;

    fn writer(dtype: &DType) -> Result<Bytes, DTypeError> {
        element_bytes(dtype).map(Bytes)
    }
}

/// An array in the machine's memory that belongs in a file.
#[derive(Debug, Clone)]
pub struct Buffer {
    pub file: PathBuf,
    pub dtype: TypeStr,
    pub shape: Vec<u64>,
    pub address: u64,
}

/// Bytes, dtype and shape of an array in C order.
///
/// # Errors
/// One line that names the file and what is wrong with it.
pub fn load(file: &Path) -> Result<(Vec<u8>, TypeStr, Vec<u64>), String> {
    let refuse = |why: String| format!("{}: {why}", file.display());
    let reader = BufReader::new(File::open(file).map_err(|e| refuse(e.to_string()))?);
    let array = NpyFile::new(reader).map_err(|e| refuse(format!("is no .npy file: {e}")))?;
    if array.order() != Order::C {
        return Err(refuse("is in Fortran order; allowed: C order".to_owned()));
    }
    let dtype = array.dtype();
    let size = element_bytes(&dtype).map_err(|e| refuse(e.to_string()))?;
    let DType::Plain(ty) = dtype else { return Err(refuse("has records; allowed: numbers".to_owned())) };
    let shape = array.shape().to_vec();
    let mut bytes = Vec::new();
    for element in array.data::<Element>().map_err(|e| refuse(e.to_string()))? {
        bytes.extend_from_slice(&element.map_err(|e| refuse(e.to_string()))?.0[..size]);
    }
    Ok((bytes, ty, shape))
}

/// Size of an array in bytes; `None` if its elements are no numbers or it does not fit 64 bits.
pub fn size(dtype: &TypeStr, shape: &[u64]) -> Option<u64> {
    let bytes = element_bytes(&DType::Plain(dtype.clone())).ok()? as u64;
    shape.iter().try_fold(bytes, |all, &n| all.checked_mul(n))
}

impl Buffer {
    /// What the machine's memory holds.
    ///
    /// # Errors
    /// One line that names the file and what is wrong.
    pub fn read(&self, memory: &Memory) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; size(&self.dtype, &self.shape).unwrap_or(0) as usize];
        memory.read(self.address, &mut bytes).map_err(|e| format!("{}: {e}", self.file.display()))?;
        Ok(bytes)
    }

    /// Bytes of one element.
    pub fn item_bytes(&self) -> usize {
        self.dtype.num_bytes().unwrap_or(1)
    }

    /// Writes what the machine's memory holds, through a file beside it, so that none is ever half-written.
    ///
    /// # Errors
    /// One line that names the file and what is wrong.
    pub fn save(&self, memory: &Memory) -> Result<(), String> {
        let refuse = |why: String| format!("{}: {why}", self.file.display());
        let bytes = self.read(memory)?;
        let unwritten = memory.unwritten(self.address, bytes.len()).map_err(|e| refuse(e.to_string()))?;
        if unwritten > 0 {
            eprintln!("ptx-machine: {}: {unwritten} of {} bytes were never written", self.file.display(), bytes.len());
        }
        let mut out = WholeFile::create(&self.file)?;
        self.write(&mut out, &bytes).map_err(|e| refuse(e.to_string()))?;
        out.finish()
    }

    fn write(&self, out: &mut WholeFile, bytes: &[u8]) -> std::io::Result<()> {
        let options = WriteOptions::<Element>::new().dtype(DType::Plain(self.dtype.clone())).shape(&self.shape);
        let mut array = options.writer(out).begin_nd()?;
        for chunk in bytes.chunks(self.dtype.num_bytes().unwrap_or(1)) {
            let mut element = Element([0; MOST]);
            element.0[..chunk.len()].copy_from_slice(chunk);
            array.push(&element)?;
        }
        array.finish()
    }
}
