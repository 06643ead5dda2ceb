//! Kernel arguments as the command line writes them.

use std::path::PathBuf;
use std::str::FromStr;

use npyz::TypeStr;
use ptx_machine::{AllocOptions, Arg, Memory};

use crate::npy::{self, Buffer};

/// What an argument may be.
const ALLOWED: &str = "a number, TYPE:NUMBER, bytes:HEX, in:FILE.npy, inout:FILE.npy, out:FILE.npy:DTYPE:N[xM…], \
                       zeros:FILE.npy:DTYPE:N[xM…], scratch:NAME:DTYPE:N[xM…]";

/// One `--arg`.
#[derive(Debug, Clone)]
pub enum Argument {
    Value(Arg),
    /// A buffer that the kernel may read, and write where `back` says so.
    Input {
        file: PathBuf,
        back: bool,
    },
    /// A new buffer, which the kernel is to write; filled with zeros, or with nothing.
    Output {
        file: PathBuf,
        dtype: TypeStr,
        shape: Vec<u64>,
        zeros: bool,
    },
    /// A new buffer that the kernel uses for itself, of so many bytes.
    Scratch {
        name: String,
        bytes: u64,
    },
}

/// An argument with its buffer in memory.
pub struct Placed {
    pub arg: Arg,
    /// Goes to its file after the run.
    pub written: Option<Buffer>,
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None => Ok(Self::Value(number(text)?)),
            Some(("in", file)) => Ok(Self::Input { file: file.into(), back: false }),
            Some(("inout", file)) => Ok(Self::Input { file: file.into(), back: true }),
            Some(("out", rest)) => output(rest, false),
            Some(("zeros", rest)) => output(rest, true),
            Some(("scratch", rest)) => scratch(rest),
            Some(("bytes", digits)) => Ok(Self::Value(Arg::bytes(hexadecimal(digits)?))),
            Some((ty, value)) => number(value)?.typed(ty).map(Self::Value).map_err(|e| e.to_string()),
        }
    }
}

fn number(text: &str) -> Result<Arg, String> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let integer = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok(),
        None => digits.parse().ok(),
    };
    let float = || text.parse().ok().map(Arg::float);
    integer
        .map(|v: i128| Arg::int(sign * v))
        .or_else(float)
        .ok_or_else(|| format!("{text:?} is no number; allowed: {ALLOWED}"))
}

fn hexadecimal(digits: &str) -> Result<Vec<u8>, String> {
    let refuse = || format!("bytes:{digits} is no hexadecimal; allowed: two digits a byte, such as bytes:00ff1234");
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| {
        let digits = std::str::from_utf8(pair).ok().filter(|_| pair.iter().all(u8::is_ascii_hexdigit))?;
        u8::from_str_radix(digits, 16).ok()
    };
    pairs.iter().map(byte).collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty()).ok_or_else(refuse)
}

/// `FILE:DTYPE:SHAPE`, for a file that is written.
fn output(text: &str, zeros: bool) -> Result<Argument, String> {
    let word = if zeros { "zeros" } else { "out" };
    let (file, dtype, shape, _) =
        buffer(word, text, &format!("{word}:FILE.npy:DTYPE:N[xM…], such as {word}:o.npy:f4:16x256"))?;
    Ok(Argument::Output { file: file.into(), dtype, shape, zeros })
}

/// `NAME:DTYPE:SHAPE`.
fn scratch(text: &str) -> Result<Argument, String> {
    let (name, _, _, bytes) = buffer("scratch", text, "scratch:NAME:DTYPE:N[xM…], such as scratch:partial:f4:16x256")?;
    Ok(Argument::Scratch { name: name.to_owned(), bytes })
}

/// Name, type, shape and size of a new buffer.
fn buffer<'t>(word: &str, text: &'t str, allowed: &str) -> Result<(&'t str, TypeStr, Vec<u64>, u64), String> {
    let refuse = || format!("{word}:{text} is no buffer; allowed: {allowed}");
    let (rest, shape) = text.rsplit_once(':').ok_or_else(refuse)?;
    let (name, dtype) = rest.rsplit_once(':').ok_or_else(refuse)?;
    let order = if dtype.starts_with(['<', '|']) {
        ""
    } else if dtype.ends_with('1') {
        "|"
    } else {
        "<"
    };
    let dtype: TypeStr = format!("{order}{dtype}").parse().map_err(|_| refuse())?;
    let shape: Vec<u64> = shape.split('x').map(|n| n.parse().map_err(|_| refuse())).collect::<Result<_, _>>()?;
    match npy::size(&dtype, &shape) {
        Some(bytes) if bytes <= 1 << 36 => Ok((name, dtype, shape, bytes)),
        _ => Err(format!("{word}:{text} is too large; allowed: 64 GiB")),
    }
}

impl Argument {
    /// Puts the argument's buffer into memory.
    ///
    /// # Errors
    /// One line that names the file, or what does not fit.
    pub fn place(&self, memory: &mut Memory) -> Result<Placed, String> {
        match self {
            Self::Value(arg) => Ok(Placed { arg: arg.clone(), written: None }),
            Self::Input { file, back } => {
                let (bytes, dtype, shape) = npy::load(file)?;
                let options = AllocOptions { writable: *back, ..AllocOptions::default() };
                let address = memory.alloc(&name(file), &bytes, options).map_err(|e| e.to_string())?;
                let buffer = Buffer { file: file.clone(), dtype, shape, address };
                Ok(Placed { arg: pointer(address)?, written: back.then_some(buffer) })
            }
            Self::Output { file, dtype, shape, zeros } => {
                let size = npy::size(dtype, shape).unwrap_or(0) as usize;
                let address = if *zeros {
                    memory.alloc(&name(file), &vec![0; size], AllocOptions::default())
                } else {
                    memory.alloc_uninit(&name(file), size)
                };
                let address = address.map_err(|e| e.to_string())?;
                let buffer = Buffer { file: file.clone(), dtype: dtype.clone(), shape: shape.clone(), address };
                Ok(Placed { arg: pointer(address)?, written: Some(buffer) })
            }
            Self::Scratch { name, bytes } => {
                let address = memory.alloc_scratch(name, *bytes as usize).map_err(|e| e.to_string())?;
                Ok(Placed { arg: pointer(address)?, written: None })
            }
        }
    }
}

/// The address of a buffer, for a parameter of 64 bits and for no float.
fn pointer(address: u64) -> Result<Arg, String> {
    Arg::int(address.into()).typed("u64").map_err(|e| e.to_string())
}

/// What faults call the buffer of a file.
fn name(file: &std::path::Path) -> String {
    file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}
