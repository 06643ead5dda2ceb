//! The exceptions of `rust_kernel`, and how a library's error becomes one.

use ptx_machine::{Fault, LaunchError, MemoryError};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};

create_exception!(rust_kernel.plan, PlanError, PyValueError, "A call that cannot be planned.");
create_exception!(rust_kernel.ptx, PtxError, PyValueError, "A PTX text that the machine does not accept.");
create_exception!(rust_kernel.ptx, PtxFault, PyRuntimeError, "A kernel did something that it may not do.");

/// Attributes of the exceptions, with what they hold where an error does not know better. (A class made in Rust on the
/// stable ABI cannot both extend an exception and have fields; so the fields are ordinary attributes.)
pub fn declare_attributes(py: Python<'_>) -> PyResult<()> {
    let plan = PlanError::type_object(py);
    for name in ["field", "value", "allowed"] {
        plan.setattr(name, "")?;
    }
    let refusal = PtxError::type_object(py);
    for name in ["file", "text", "message"] {
        refusal.setattr(name, "")?;
    }
    refusal.setattr("line", 0)?;
    refusal.setattr("nearest", py.None())?;
    let fault = PtxFault::type_object(py);
    for name in ["kind", "file", "kernel", "instruction", "message"] {
        fault.setattr(name, "")?;
    }
    for name in ["line", "warp"] {
        fault.setattr(name, 0)?;
    }
    fault.setattr("block", (0, 0, 0))?;
    for name in ["lane", "address"] {
        fault.setattr(name, py.None())?;
    }
    Ok(())
}

/// The Python exception of the planner's error.
pub fn plan_error(py: Python<'_>, error: &splitk_plan::PlanError) -> PyErr {
    let raised = PlanError::new_err(error.to_string());
    let fields = [("field", error.field), ("value", &error.value), ("allowed", &error.allowed)];
    with_attributes(py, raised, |instance| fields.iter().try_for_each(|(name, text)| instance.setattr(*name, *text)))
}

/// The Python exception of a refused PTX text.
pub fn ptx_error(py: Python<'_>, error: &ptx_machine::PtxError) -> PyErr {
    with_attributes(py, PtxError::new_err(error.to_string()), |instance| {
        instance.setattr("file", &error.file)?;
        instance.setattr("line", error.line)?;
        instance.setattr("text", &error.text)?;
        instance.setattr("message", &error.message)?;
        instance.setattr("nearest", &error.nearest)
    })
}

/// The Python exception of a launch that gave no result.
pub fn launch_error(py: Python<'_>, error: &LaunchError) -> PyErr {
    match error {
        LaunchError::Input { .. } => PyValueError::new_err(error.to_string()),
        LaunchError::Cancelled => PyKeyboardInterrupt::new_err(()),
        LaunchError::Fault(fault) => ptx_fault(py, fault),
    }
}

/// The Python exception of memory that is not there.
pub fn memory_error(error: &MemoryError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn ptx_fault(py: Python<'_>, fault: &Fault) -> PyErr {
    with_attributes(py, PtxFault::new_err(fault.to_string()), |instance| {
        instance.setattr("kind", fault.kind.name())?;
        instance.setattr("file", &fault.file)?;
        instance.setattr("kernel", &fault.kernel)?;
        instance.setattr("line", fault.line)?;
        instance.setattr("instruction", &fault.instruction)?;
        instance.setattr("block", <(u32, u32, u32)>::from(fault.block))?;
        instance.setattr("warp", fault.warp)?;
        instance.setattr("lane", fault.lane)?;
        instance.setattr("address", fault.address)?;
        instance.setattr("message", &fault.message)
    })
}

/// `raised` with attributes set, or the error that setting them met.
pub fn with_attributes(
    py: Python<'_>,
    raised: PyErr,
    set: impl FnOnce(&Bound<'_, pyo3::exceptions::PyBaseException>) -> PyResult<()>,
) -> PyErr {
    match set(raised.value(py)) {
        Ok(()) => raised,
        Err(failure) => failure,
    }
}
