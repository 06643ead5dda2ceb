//! The exceptions of `rust_kernel.decode`, and how the launching library's error becomes one.

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};
use splitk_cuda::Error;

use crate::errors::{plan_error, with_attributes};

create_exception!(
    rust_kernel.decode,
    DeviceUnavailableError,
    PyRuntimeError,
    "There is no driver or no device, or none that the kernels run on."
);
create_exception!(
    rust_kernel.decode,
    ContextError,
    PyRuntimeError,
    "The calling thread has no CUDA context, or another one than the object's."
);
create_exception!(
    rust_kernel.decode,
    CudaError,
    PyRuntimeError,
    "The CUDA driver refused a call, or reports that earlier work failed."
);
create_exception!(
    rust_kernel.decode,
    PtxSetError,
    PyValueError,
    "PTX files that do not belong to this library: another version, an altered file, a kernel missing."
);

/// Attributes of the exceptions, with what they hold where an error does not know better.
pub fn declare_attributes(py: Python<'_>) -> PyResult<()> {
    let driver = CudaError::type_object(py);
    driver.setattr("call", "")?;
    driver.setattr("code", 0)?;
    driver.setattr("name", "")
}

/// The Python exception of the launching library's error.
pub fn decode_error(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Plan(plan) => plan_error(py, plan),
        Error::Kind { .. } => PyTypeError::new_err(error.to_string()),
        Error::Value { .. } => PyValueError::new_err(error.to_string()),
        Error::Unavailable(line) => DeviceUnavailableError::new_err(line.clone()),
        Error::Context(line) => ContextError::new_err(line.clone()),
        Error::PtxSet(line) => PtxSetError::new_err(line.clone()),
        Error::Driver { call, code, name, .. } => {
            with_attributes(py, CudaError::new_err(error.to_string()), |instance| {
                instance.setattr("call", *call)?;
                instance.setattr("code", *code)?;
                instance.setattr("name", name)
            })
        }
    }
}
