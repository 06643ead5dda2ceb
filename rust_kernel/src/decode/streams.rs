//! Which stream a call is queued on.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

use crate::arguments::{type_name, wrong_value};
use crate::decode::arrays::type_error;

/// The legacy default stream.
const DEFAULT_STREAM: u64 = 0;
const HANDLE: &str = "a CUDA stream handle, 0 or greater";
const WANTED: &str = "None, an int or an object with __cuda_stream__";

/// The handle of the stream that a call was given: a handle, an object with `__cuda_stream__`, or `None`, which stands for
/// torch's current stream where `array` is a torch tensor, and otherwise for `CuPy`'s, if that is in use in this process.
pub fn handle(stream: Option<&Bound<'_, PyAny>>, array: &Bound<'_, PyAny>, device: u32) -> PyResult<u64> {
    let Some(stream) = stream else { return current(array, device) };
    if stream.is_instance_of::<PyInt>() && !stream.is_instance_of::<PyBool>() {
        return number("stream", stream);
    }
    if let Some(protocol) = stream.getattr_opt("__cuda_stream__")? {
        let answer = if protocol.is_callable() { protocol.call0()? } else { protocol };
        return of_protocol(&answer);
    }
    // torch before 2.9 has streams without the protocol.
    match stream.getattr_opt("cuda_stream")? {
        Some(handle) => number("stream.cuda_stream", &handle),
        None => Err(type_error("stream", &format!("a {}", type_name(stream)), WANTED)),
    }
}

fn of_protocol(answer: &Bound<'_, PyAny>) -> PyResult<u64> {
    let malformed = |_| type_error("stream.__cuda_stream__", &type_name(answer), "a pair of version 0 and a handle");
    let (version, handle): (u64, Bound<'_, PyAny>) = answer.extract().map_err(malformed)?;
    if version != 0 {
        return Err(wrong_value("stream.__cuda_stream__ version", version, "0").into());
    }
    number("stream.__cuda_stream__ handle", &handle)
}

fn current(array: &Bound<'_, PyAny>, device: u32) -> PyResult<u64> {
    let py = array.py();
    if is_of(array, "torch")
        && let Some(torch) = loaded(py, "torch")?
    {
        let stream = torch.getattr("cuda")?.call_method1("current_stream", (device,))?;
        return number("torch's current stream", &stream.getattr("cuda_stream")?);
    }
    // A library that was never imported has no current stream but the default.
    let Some(cupy) = loaded(py, "cupy")? else { return Ok(DEFAULT_STREAM) };
    let stream = cupy.getattr("cuda")?.call_method1("get_current_stream", (device,))?;
    number("CuPy's current stream", &stream.getattr("ptr")?)
}

/// Whether a value's type is defined in the package `library`.
fn is_of(value: &Bound<'_, PyAny>, library: &str) -> bool {
    let module = value.get_type().module();
    module.is_ok_and(|name: Bound<'_, PyString>| {
        name.to_cow().is_ok_and(|name| name.split('.').next().is_some_and(|package| package == library))
    })
}

/// A module that the program has imported.
fn loaded<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let module = modules.call_method1("get", (name,))?;
    Ok((!module.is_none()).then_some(module))
}

fn number(field: &'static str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract().map_err(|_| wrong_value(field, crate::arguments::shown(value), HANDLE).into())
}
