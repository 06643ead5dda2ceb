//! The one error of this crate.

use std::fmt::Display;

/// Input that the twin refuses. Its text is one line: the field, its value, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; allowed: {allowed}")]
pub struct TwinError {
    /// Name of the offending argument.
    pub field: &'static str,
    /// Its value, as text.
    pub value: String,
    /// What would have been accepted.
    pub allowed: String,
}

impl TwinError {
    pub(crate) fn new(field: &'static str, value: impl Display, allowed: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), allowed: allowed.into() }
    }
}
