//! Arrays in device memory, and whether they are laid out as the kernels read and write them (contract, section 2).

use splitk_plan::{Geometry, Storage};

use crate::Error;

/// Bytes that addresses and strides are multiples of.
const ALIGNMENT: u64 = 16;

/// An array in device memory. Whose memory it is, and that it lives long enough, is the caller's business.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayView {
    /// Address of its first element.
    pub address: u64,
    /// Lengths of its axes.
    pub shape: Vec<u64>,
    /// Elements from one to the next along each axis. Of an axis with one element the stride does not matter.
    pub strides: Vec<i64>,
    /// Type of its elements.
    pub element: Storage,
    /// Whether it may be written to.
    pub writable: bool,
}

impl ArrayView {
    /// An array whose elements lie one after the other.
    pub fn dense(address: u64, shape: &[u64], element: Storage) -> Self {
        let mut strides = vec![1_i64; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(i64::try_from(shape[axis]).unwrap_or(i64::MAX));
        }
        Self { address, shape: shape.to_vec(), strides, element, writable: true }
    }

    /// Its stride along `axis`: 0 for an axis with one element, whatever the array says of it.
    pub fn stride(&self, axis: usize) -> i64 {
        if self.shape[axis] == 1 { 0 } else { self.strides[axis] }
    }

    fn all_strides(&self) -> Vec<i64> {
        (0..self.shape.len()).map(|axis| self.stride(axis)).collect()
    }
}

/// `q`: f32 `[num_q_heads, head_dim]`.
///
/// # Errors
/// When it is not.
pub fn check_q(geometry: &Geometry, q: &ArrayView) -> Result<(), Error> {
    let shape = [u64::from(geometry.num_q_heads()), u64::from(geometry.head_dim())];
    check("q", q, Storage::F32, q.shape == shape, &tuple(&shape))
}

/// K or V: `[rows >= kv_len, num_kv_heads, head_dim]` in the storage type.
///
/// # Errors
/// When it is not.
pub fn check_kv(geometry: &Geometry, field: &str, array: &ArrayView, kv_len: u32) -> Result<(), Error> {
    let (heads, dim) = (u64::from(geometry.num_kv_heads()), u64::from(geometry.head_dim()));
    let fits = matches!(array.shape[..], [rows, h, d] if rows >= u64::from(kv_len) && (h, d) == (heads, dim));
    check(field, array, geometry.storage(), fits, &format!("(>= {kv_len}, {heads}, {dim})"))
}

/// `out`: f32 `[num_q_heads, head_dim]`, writable, whose rows do not overlap.
///
/// # Errors
/// When it is not.
pub fn check_out(geometry: &Geometry, out: &ArrayView) -> Result<(), Error> {
    let shape = [u64::from(geometry.num_q_heads()), u64::from(geometry.head_dim())];
    check("out", out, Storage::F32, out.shape == shape, &tuple(&shape))?;
    if !out.writable {
        return Err(Error::value("out", "read-only", "a writable array"));
    }
    let apart = i64::from(geometry.head_dim());
    if geometry.num_q_heads() > 1 && out.stride(0) < apart {
        let allowed = format!("at least {apart} elements between heads");
        return Err(Error::value("out.strides", tuple(&out.all_strides()), allowed));
    }
    Ok(())
}

fn check(field: &str, array: &ArrayView, element: Storage, fits: bool, shape: &str) -> Result<(), Error> {
    if array.element != element {
        return Err(Error::kind(format!("{field}.dtype"), array.element, element.word()));
    }
    if !fits {
        return Err(Error::value(format!("{field}.shape"), tuple(&array.shape), shape));
    }
    let strides = array.all_strides();
    let (last, others) = strides.split_last().expect("a shape that fits has axes");
    if *last != 1 {
        return Err(Error::value(format!("{field}.strides"), tuple(&strides), "1 in the last axis"));
    }
    let elements = (ALIGNMENT as i64) / i64::from(element.bytes());
    if others.iter().any(|stride| *stride < 0 || stride % elements != 0) {
        let allowed = format!("0 or positive multiples of {elements} elements (16 bytes) in every axis but the last");
        return Err(Error::value(format!("{field}.strides"), tuple(&strides), allowed));
    }
    if !array.address.is_multiple_of(ALIGNMENT) {
        let value = format!("{:#x}", array.address);
        return Err(Error::value(format!("{field}.address"), value, "a multiple of 16 bytes"));
    }
    Ok(())
}

/// Numbers as Python writes a tuple of them.
fn tuple<T: ToString>(numbers: &[T]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    if words.len() == 1 { format!("({},)", words[0]) } else { format!("({})", words.join(", ")) }
}
