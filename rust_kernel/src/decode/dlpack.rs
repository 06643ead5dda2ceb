//! Arrays that offer `DLPack`: the tensor in the capsule that `__dlpack__` returns, version 0 (no version field) or 1.

use std::ffi::{CStr, c_void};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyCapsule, PyCapsuleMethods};
use splitk_cuda::ArrayView;
use splitk_plan::Storage;

use crate::decode::arrays::{WANTED, refusal, type_error};

/// Device types: CUDA, and CUDA's managed memory.
const DEVICE_TYPES: [i32; 2] = [2, 13];
/// The consumer's stream: -1 asks for no synchronisation, which a call leaves to its caller.
const NO_SYNCHRONISATION: i64 = -1;
const MAX_VERSION: (u32, u32) = (1, 0);
const FLOAT: u8 = 2;
const READ_ONLY: u64 = 1;
const COPIED: u64 = 2;
const UNVERSIONED: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    axes: i32,
    type_code: u8,
    type_bits: u8,
    type_lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `DLManagedTensorVersioned`. (The unversioned `DLManagedTensor` starts with its tensor.)
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    manager: *mut c_void,
    deleter: *mut c_void,
    flags: u64,
    tensor: Tensor,
}

/// The array behind `__dlpack__`, or `None` where there is no such method.
pub fn tensor(field: &'static str, array: &Bound<'_, PyAny>) -> PyResult<Option<ArrayView>> {
    let py = array.py();
    if array.getattr_opt("__dlpack__")?.is_none() {
        return Ok(None);
    }
    let device = array.call_method0("__dlpack_device__").map_err(|error| refusal(py, field, error))?;
    let (kind, _): (i32, i64) = device.extract().map_err(|_| malformed(field))?;
    if !DEVICE_TYPES.contains(&kind) {
        return Err(type_error(field, &format!("memory of DLPack device type {kind}"), WANTED));
    }
    let capsule = capsule(array).map_err(|error| refusal(py, field, error))?;
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| malformed(field))?;
    read(field, capsule).map(Some)
}

/// The capsule. It is never renamed, so whoever made it frees the tensor when it goes; the memory is kept by the array.
fn capsule<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let versioned = [
        ("stream", NO_SYNCHRONISATION.into_pyobject(py)?.into_any()),
        ("max_version", MAX_VERSION.into_pyobject(py)?.into_any()),
    ]
    .into_py_dict(py)?;
    match array.call_method("__dlpack__", (), Some(&versioned)) {
        // A library from before version 1 does not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            array.call_method("__dlpack__", (), Some(&[("stream", NO_SYNCHRONISATION)].into_py_dict(py)?))
        }
        other => other,
    }
}

fn read(field: &'static str, capsule: &Bound<'_, PyCapsule>) -> PyResult<ArrayView> {
    if capsule.is_valid_checked(Some(UNVERSIONED)) {
        let pointer = capsule.pointer_checked(Some(UNVERSIONED))?;
        // SAFETY: a capsule of this name holds a `DLManagedTensor`, which starts with its `DLTensor`, alive while the
        // capsule is; the caller holds the capsule.
        return view(field, unsafe { pointer.cast::<Tensor>().as_ref() }, 0);
    }
    let pointer = capsule.pointer_checked(Some(VERSIONED)).map_err(|_| malformed(field))?;
    // SAFETY: a capsule of this name holds a `DLManagedTensorVersioned`, whose first field says its version in every
    // version; alive as above.
    let major = unsafe { pointer.cast::<u32>().read() };
    if major != MAX_VERSION.0 {
        return Err(PyValueError::new_err(format!("{field}: DLPack version is {major}; allowed: {}", MAX_VERSION.0)));
    }
    // SAFETY: as above, and version 1 has this layout.
    let managed = unsafe { pointer.cast::<Versioned>().as_ref() };
    if managed.flags & COPIED != 0 {
        return Err(type_error(field, "a copy that its library made", WANTED));
    }
    view(field, &managed.tensor, managed.flags)
}

fn view(field: &'static str, tensor: &Tensor, flags: u64) -> PyResult<ArrayView> {
    let element = match (tensor.type_code, tensor.type_bits, tensor.type_lanes) {
        (FLOAT, 32, 1) => Storage::F32,
        (FLOAT, 16, 1) => Storage::F16,
        (code, bits, lanes) => {
            let value = format!("DLPack type {code} of {bits} bits, {lanes} lanes");
            return Err(type_error(&format!("{field}.dtype"), &value, "float32 or float16"));
        }
    };
    let axes = usize::try_from(tensor.axes).map_err(|_| malformed(field))?;
    // SAFETY: the shape has as many numbers as the tensor has axes; it lives as long as the tensor.
    let shape = unsafe { numbers(tensor.shape, axes) };
    let shape = shape.iter().map(|extent| u64::try_from(*extent).ok()).collect::<Option<Vec<_>>>();
    let address = (tensor.data as u64).wrapping_add(tensor.byte_offset);
    let mut view = ArrayView::dense(address, &shape.ok_or_else(|| malformed(field))?, element);
    view.writable = flags & READ_ONLY == 0;
    if !tensor.strides.is_null() {
        // SAFETY: as the shape; no strides stand for a dense array.
        view.strides = unsafe { numbers(tensor.strides, axes) }.to_vec();
    }
    Ok(view)
}

/// # Safety
/// `count` numbers lie at `start`, which may be null when there are none.
unsafe fn numbers<'a>(start: *const i64, count: usize) -> &'a [i64] {
    if count == 0 {
        return &[];
    }
    // SAFETY: says the caller.
    unsafe { std::slice::from_raw_parts(start, count) }
}

fn malformed(field: &str) -> PyErr {
    type_error(&format!("{field}.__dlpack__"), "not what the protocol says", WANTED)
}
