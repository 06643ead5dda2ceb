//! The exceptions of `rust_kernel`, and how a library's error becomes one.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};

create_exception!(rust_kernel.plan, PlanError, PyValueError, "A call that cannot be planned.");

/// Attributes of the exceptions, with what they hold where an error does not know better. (A class made in Rust on the
/// stable ABI cannot both extend an exception and have fields; so the fields are ordinary attributes.)
pub fn declare_attributes(py: Python<'_>) -> PyResult<()> {
    let plan = PlanError::type_object(py);
    for name in ["field", "value", "allowed"] {
        plan.setattr(name, "")?;
    }
    Ok(())
}

/// The Python exception of the planner's error.
pub fn plan_error(py: Python<'_>, error: &splitk_plan::PlanError) -> PyErr {
    let raised = PlanError::new_err(error.to_string());
    let fields = [("field", error.field), ("value", &error.value), ("allowed", &error.allowed)];
    with_attributes(py, raised, |instance| fields.iter().try_for_each(|(name, text)| instance.setattr(*name, *text)))
}

/// `raised` with attributes set, or the error that setting them met.
fn with_attributes(
    py: Python<'_>,
    raised: PyErr,
    set: impl FnOnce(&Bound<'_, pyo3::exceptions::PyBaseException>) -> PyResult<()>,
) -> PyErr {
    match set(raised.value(py)) {
        Ok(()) => raised,
        Err(failure) => failure,
    }
}
