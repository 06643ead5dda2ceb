//! Arguments that Python code gets wrong in ordinary ways: one line that names the field, the value and what is allowed.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBoolMethods, PyInt, PyString};

/// Longest value that a message repeats, in characters.
const SHOWN: usize = 60;

/// A Python value as a message shows it: its `repr`, on one line and cut.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let whole = value.repr().map_or_else(|_| type_name(value), |repr| repr.to_string_lossy().into_owned());
    let mut line: String = whole.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    if whole.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

/// The name of a value's type.
pub fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

/// An argument that cannot be taken. `?` makes it the Python exception that fits.
pub enum BadArgument {
    /// Not of a type that is taken.
    Type { field: &'static str, value: String, allowed: String },
    /// Of the right type, with a value that is not allowed.
    Value { field: &'static str, value: String, allowed: String },
}

impl BadArgument {
    /// The same, where more is allowed than the part that was looked at knows.
    pub fn allowing(self, allowed: &str) -> Self {
        match self {
            Self::Type { field, value, .. } => Self::Type { field, value, allowed: allowed.to_owned() },
            Self::Value { field, value, .. } => Self::Value { field, value, allowed: allowed.to_owned() },
        }
    }
}

impl From<BadArgument> for PyErr {
    fn from(bad: BadArgument) -> Self {
        match bad {
            BadArgument::Type { field, value, allowed } => {
                PyTypeError::new_err(format!("{field} is {value}; allowed: {allowed}"))
            }
            BadArgument::Value { field, value, allowed } => {
                PyValueError::new_err(format!("{field} is {value}; allowed: {allowed}"))
            }
        }
    }
}

/// `field` is of a type that is not taken.
pub fn wrong_type(field: &'static str, value: &Bound<'_, PyAny>, allowed: impl Into<String>) -> BadArgument {
    let value = format!("{} of type {}", shown(value), type_name(value));
    BadArgument::Type { field, value, allowed: allowed.into() }
}

/// `field` has a value that is not allowed.
pub fn wrong_value(field: &'static str, value: impl Display, allowed: impl Into<String>) -> BadArgument {
    BadArgument::Value { field, value: value.to_string(), allowed: allowed.into() }
}

/// A whole number from `lowest` to `highest`; anything with `__index__` is taken, NumPy's integers too, but no bool.
pub fn integer<T>(field: &'static str, value: &Bound<'_, PyAny>, lowest: T, highest: T) -> Result<T, BadArgument>
where
    T: TryFrom<i128> + PartialOrd + Display + Copy,
{
    let allowed = || format!("a whole number from {lowest} to {highest}");
    as_index(value)
        .ok_or_else(|| wrong_type(field, value, allowed()))?
        .extract::<i128>()
        .ok()
        .and_then(|wide| T::try_from(wide).ok())
        .filter(|number| lowest <= *number && *number <= highest)
        .ok_or_else(|| wrong_value(field, shown(value), allowed()))
}

/// A word.
pub fn word<'a>(field: &'static str, value: &'a Bound<'_, PyAny>) -> Result<Cow<'a, str>, BadArgument> {
    let text = value.cast::<PyString>().map_err(|_| wrong_type(field, value, "a str"))?;
    Ok(text.to_string_lossy())
}

/// A word that a library reads, whose refusal `refuse` turns into an exception.
pub fn parsed_word<T: FromStr>(
    field: &'static str,
    value: &Bound<'_, PyAny>,
    refuse: impl FnOnce(&T::Err) -> PyErr,
) -> PyResult<T> {
    word(field, value)?.parse().map_err(|error| refuse(&error))
}

/// One of the words of `table`, as what it stands for.
pub fn one_of<T: Copy>(field: &'static str, value: &Bound<'_, PyAny>, table: &[(&str, T)]) -> Result<T, BadArgument> {
    let given = word(field, value)?;
    table.iter().find(|(name, _)| *name == given).map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        wrong_value(field, shown(value), names.join(", "))
    })
}

/// True or False.
pub fn boolean(field: &'static str, value: &Bound<'_, PyAny>) -> Result<bool, BadArgument> {
    value.cast::<PyBool>().map(PyBoolMethods::is_true).map_err(|_| wrong_type(field, value, "a bool"))
}

fn as_index<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyInt>> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    if let Ok(integer) = value.cast::<PyInt>() {
        return Some(integer.clone());
    }
    value.call_method0("__index__").ok()?.cast_into::<PyInt>().ok()
}
