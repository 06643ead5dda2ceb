//! What can go wrong; each text is one line.

use std::fmt::Display;

use splitk_plan::PlanError;

/// A decoder that cannot be made, or a call that was not queued. Nothing was launched when a call returns one, except
/// for [`Error::Driver`], which the driver may also report for work that was queued before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A shape that cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An argument that is not of a kind that is taken: a dtype, memory of the host.
    #[error("{field} is {value}; allowed: {allowed}")]
    Kind {
        /// The argument, or its part.
        field: String,
        /// What it is.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// An argument whose value is not allowed: a shape, a stride, an address, a device, a stream.
    #[error("{field} is {value}; allowed: {allowed}")]
    Value {
        /// The argument, or its part.
        field: String,
        /// Its value.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// There is no driver or no device, or none that the kernels run on.
    #[error("{0}")]
    Unavailable(String),
    /// The calling thread has no CUDA context, or another one than the decoder's.
    #[error("{0}")]
    Context(String),
    /// A set of PTX files that does not belong to this library: another version, an altered file, a kernel missing.
    #[error("{0}")]
    PtxSet(String),
    /// The driver refused a call.
    #[error("{call} failed with {name}: {text}")]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// Its answer, a `CUresult`.
        code: u32,
        /// Name of the code, such as `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
        /// What the driver says of it.
        text: String,
    },
}

impl Error {
    pub(crate) fn kind(field: impl Into<String>, value: impl Display, allowed: impl Into<String>) -> Self {
        Self::Kind { field: field.into(), value: value.to_string(), allowed: allowed.into() }
    }

    pub(crate) fn value(field: impl Into<String>, value: impl Display, allowed: impl Into<String>) -> Self {
        Self::Value { field: field.into(), value: value.to_string(), allowed: allowed.into() }
    }
}
