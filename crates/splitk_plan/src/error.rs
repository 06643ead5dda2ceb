//! The one error of this crate.

use std::fmt::Display;

/// A request that cannot be planned. Its text is one line: the field, its value, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; allowed: {allowed}")]
pub struct PlanError {
    /// Name of the offending field, as the request spells it.
    pub field: &'static str,
    /// Its value, as text.
    pub value: String,
    /// What would have been accepted.
    pub allowed: String,
}

impl PlanError {
    /// An error about `field`, whose `value` is not among what is `allowed`.
    pub fn new(field: &'static str, value: impl Display, allowed: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), allowed: allowed.into() }
    }

    /// An error about a word that is not in a registry; the word is quoted and cut, so the message stays one line.
    pub(crate) fn unknown_word<'a>(field: &'static str, word: &str, known: impl Iterator<Item = &'a str>) -> Self {
        const SHOWN: usize = 40;
        let mut shown: String = word.chars().take(SHOWN).collect();
        if word.chars().nth(SHOWN).is_some() {
            shown.push('…');
        }
        Self::new(field, format_args!("{shown:?}"), known.collect::<Vec<_>>().join(", "))
    }
}
