//! Arrays of any library as addresses: `__cuda_array_interface__` or `DLPack`. Nothing is copied.

use pyo3::exceptions::{PyAttributeError, PyBufferError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use splitk_cuda::ArrayView;
use splitk_plan::Storage;

use crate::arguments::type_name;
use crate::decode::dlpack;

/// What an argument has to be.
pub const WANTED: &str = "an array of device memory: __cuda_array_interface__ or DLPack (CuPy, torch)";
const DTYPES: &str = "float32 ('<f4') or float16 ('<f2')";

/// Describes an argument. `field` is what errors call it.
pub fn view_of(field: &'static str, array: &Bound<'_, PyAny>) -> PyResult<ArrayView> {
    let view = match interface(field, array)? {
        Some(interface) => of_interface(field, &interface)?,
        None => match dlpack::tensor(field, array)? {
            Some(view) => view,
            None => return Err(type_error(field, &format!("a {}", type_name(array)), WANTED)),
        },
    };
    if view.shape.contains(&0) {
        return Err(value_error(&format!("{field}.shape"), &tuple(&view.shape), "no empty axis"));
    }
    Ok(view)
}

/// The interface's mapping. Asked for as an attribute, once: a library may build it, or refuse to, when it is read.
fn interface<'py>(field: &str, array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match array.getattr("__cuda_array_interface__") {
        Ok(mapping) if mapping.is_none() => Ok(None),
        Ok(mapping) => Ok(Some(mapping)),
        Err(error) if error.is_instance_of::<PyAttributeError>(array.py()) => Ok(None),
        Err(error) => Err(refusal(array.py(), field, error)),
    }
}

fn of_interface(field: &str, interface: &Bound<'_, PyAny>) -> PyResult<ArrayView> {
    let dict = interface.cast::<PyDict>().map_err(|_| malformed(field))?;
    if dict.get_item("mask")?.is_some_and(|mask| !mask.is_none()) {
        return Err(type_error(field, "a masked array", "an array without a mask"));
    }
    let word: String = required(field, dict, "typestr")?;
    let element = match word.as_str() {
        "<f4" => Storage::F32,
        "<f2" => Storage::F16,
        _ => return Err(type_error(&format!("{field}.dtype"), &word, DTYPES)),
    };
    let shape: Vec<u64> = required(field, dict, "shape")?;
    let (address, read_only): (u64, bool) = required(field, dict, "data")?;
    let mut view = ArrayView::dense(address, &shape, element);
    view.writable = !read_only;
    if let Some(strides) = dict.get_item("strides")?.filter(|strides| !strides.is_none()) {
        let in_bytes: Vec<i64> = strides.extract().map_err(|_| malformed(field))?;
        if in_bytes.len() != shape.len() {
            return Err(malformed(field));
        }
        view.strides = in_elements(field, &in_bytes, element)?;
    }
    Ok(view)
}

fn required<'py, T>(field: &str, interface: &Bound<'py, PyDict>, key: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let value = interface.get_item(key)?.ok_or_else(|| malformed(field))?;
    value.extract::<T>().map_err(|_| malformed(field))
}

fn in_elements(field: &str, in_bytes: &[i64], element: Storage) -> PyResult<Vec<i64>> {
    let size = i64::from(element.bytes());
    if in_bytes.iter().any(|stride| stride % size != 0) {
        let value = format!("{} bytes", tuple(in_bytes));
        return Err(value_error(&format!("{field}.strides"), &value, &format!("multiples of {size} bytes")));
    }
    Ok(in_bytes.iter().map(|stride| stride / size).collect())
}

/// The refusal of an array whose library will not hand it over, in one line; other errors are none of ours.
pub fn refusal(py: Python<'_>, field: &str, error: PyErr) -> PyErr {
    let ordinary = error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyRuntimeError>(py)
        || error.is_instance_of::<PyBufferError>(py);
    if !ordinary {
        return error;
    }
    let said = error.value(py).to_string();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let refused = type_error(field, if said.is_empty() { "refused by its library" } else { &said }, WANTED);
    refused.set_cause(py, Some(error));
    refused
}

/// An argument of a type that is not taken.
pub fn type_error(field: &str, value: &str, allowed: &str) -> PyErr {
    PyTypeError::new_err(format!("{field} is {value}; allowed: {allowed}"))
}

/// An argument of the right type, with a value that is not allowed.
pub fn value_error(field: &str, value: &str, allowed: &str) -> PyErr {
    PyValueError::new_err(format!("{field} is {value}; allowed: {allowed}"))
}

fn malformed(field: &str) -> PyErr {
    type_error(&format!("{field}.__cuda_array_interface__"), "not what the protocol says", WANTED)
}

fn tuple<T: ToString>(numbers: &[T]) -> String {
    let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    if words.len() == 1 { format!("({},)", words[0]) } else { format!("({})", words.join(", ")) }
}
