//! NumPy arrays as Rust slices, without a copy.

use numpy::{Element, PyArrayDescr, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::prelude::*;

use crate::arguments::{BadArgument, wrong_type, wrong_value};

/// Kinds of element that are plain bytes: bool, integers, floats, complex numbers.
const PLAIN_KINDS: &[u8] = b"biufc";
const PLAIN: &str = "a native-endian bool, integer or floating-point dtype";

/// An array's elements from its first to its last in memory, and where in between they are.
pub struct Strided<'a, T> {
    /// From the first element on; between strides there may be others.
    pub elements: &'a [T],
    /// Lengths of the axes.
    pub shape: &'a [usize],
    /// Elements from one to the next along each axis.
    pub strides: Vec<usize>,
}

/// `value` as a NumPy array.
pub fn array<'a, 'py>(
    field: &'static str,
    value: &'a Bound<'py, PyAny>,
    allowed: &str,
) -> Result<&'a Bound<'py, PyUntypedArray>, BadArgument> {
    value.cast::<PyUntypedArray>().map_err(|_| wrong_type(field, value, allowed))
}

/// Refuses element types whose bytes mean nothing outside this process (objects), or not what they say (byte-swapped).
pub fn require_plain(field: &'static str, dtype: &Bound<'_, PyArrayDescr>) -> Result<(), BadArgument> {
    let plain = PLAIN_KINDS.contains(&dtype.kind()) && dtype.is_native_byteorder() != Some(false);
    if plain { Ok(()) } else { Err(wrong_value(field, format!("of dtype {dtype}"), PLAIN)) }
}

/// The array `value` of elements `T` and `axes` axes; `shape` says in words what these are.
///
/// The elements are NumPy's own memory: whoever reads them without holding the interpreter relies on the caller not to
/// write to the array meanwhile, as with every NumPy function that lets go of it.
pub fn strided<'a, T: Element>(
    field: &'static str,
    value: &'a Bound<'_, PyAny>,
    axes: usize,
    shape: &str,
) -> Result<Strided<'a, T>, BadArgument> {
    let wanted = dtype::<T>(value.py());
    let array = array(field, value, &format!("a numpy.ndarray of {wanted}, {shape}"))?;
    if !array.dtype().is_equiv_to(&wanted) {
        return Err(wrong_value(field, format!("of dtype {}", array.dtype()), wanted.to_string()));
    }
    if array.ndim() != axes {
        return Err(wrong_value(field, format!("of shape {:?}", array.shape()), shape));
    }
    let size = size_of::<T>();
    let in_elements =
        |stride: &isize| usize::try_from(*stride).ok().filter(|bytes| bytes % size == 0).map(|b| b / size);
    let strides: Option<Vec<usize>> = array.strides().iter().map(in_elements).collect();
    let strides = strides.ok_or_else(|| {
        let value = format!("an array with byte strides {:?}", array.strides());
        wrong_value(field, value, format!("strides that are multiples of {size} bytes, none of them negative"))
    })?;
    Ok(Strided { elements: elements(field, array, &strides)?, shape: array.shape(), strides })
}

/// From the first element of `array` to its last, whose strides in elements are `strides`.
fn elements<'a, T: Element>(
    field: &'static str,
    array: &'a Bound<'_, PyUntypedArray>,
    strides: &[usize],
) -> Result<&'a [T], BadArgument> {
    if array.len() == 0 {
        return Ok(&[]); // an empty array's pointer may be anything
    }
    let data = data(array).cast::<T>();
    if !data.is_aligned() {
        return Err(wrong_value(field, format!("at address {:#x}", data.addr()), "an address aligned to its elements"));
    }
    let last: usize = array.shape().iter().zip(strides).map(|(length, stride)| (length - 1) * stride).sum();
    // SAFETY: `data` is aligned, and of the array's dtype, which is T's. Strides are not negative, so the array's first
    // element is its lowest and `last` its highest; both lie in one allocation, which the array keeps alive for `'a`.
    // T is a plain number, for which all bits are valid. That nothing writes to it is the caller's promise (`strided`).
    Ok(unsafe { std::slice::from_raw_parts(data, last + 1) })
}

/// The bytes of a C-contiguous array of plain elements.
pub fn bytes<'a>(field: &'static str, array: &'a Bound<'_, PyUntypedArray>) -> Result<&'a [u8], BadArgument> {
    require_plain(field, &array.dtype())?;
    if !array.is_c_contiguous() {
        let value = format!("an array with byte strides {:?}", array.strides());
        return Err(wrong_value(field, value, "a C-contiguous array (numpy.ascontiguousarray makes one)"));
    }
    let size = array.len() * array.dtype().itemsize();
    if size == 0 {
        return Ok(&[]);
    }
    // SAFETY: a C-contiguous array owns `len · itemsize` bytes from `data` on, alive for `'a`; plain elements have no
    // padding, and all bytes are valid. The caller holds the interpreter, so no Python code writes to them meanwhile.
    Ok(unsafe { std::slice::from_raw_parts(data(array), size) })
}

/// Lets `write` fill an array that was just made and that no one else has seen.
pub fn fill(array: &Bound<'_, PyUntypedArray>, write: impl FnOnce(&mut [u8]) -> PyResult<()>) -> PyResult<()> {
    let size = array.len() * array.dtype().itemsize();
    if size == 0 {
        return write(&mut []);
    }
    // SAFETY: as in `bytes`; the array is new, contiguous and not yet known to any other code.
    write(unsafe { std::slice::from_raw_parts_mut(data(array).cast_mut(), size) })
}

fn data(array: &Bound<'_, PyUntypedArray>) -> *const u8 {
    // SAFETY: the reference keeps the array object alive, so the pointer to it may be followed.
    unsafe { (*array.as_array_ptr()).fields.data.cast_const().cast::<u8>() }
}
