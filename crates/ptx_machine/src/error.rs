//! Refusals of a PTX text: what is wrong, where, and what is allowed instead.

use std::fmt;

/// Why a PTX text was not accepted.
///
/// Shown as one line: `FILE:LINE: MESSAGE: `TEXT` (nearest supported form: …)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxError {
    /// Name of the file (or other source) as given to [`crate::Module::parse`].
    pub file: String,
    /// Line, counted from 1; 0 where no line applies (the file as a whole).
    pub line: u32,
    /// The offending source text, shortened; empty where no text applies.
    pub text: String,
    /// What is wrong and what is allowed.
    pub message: String,
    /// The supported form that is closest to the text, where one is close.
    pub nearest: Option<String>,
}

impl PtxError {
    /// The same with no word of the message longer than an excerpt: names come from the text and may have any length.
    pub(crate) fn shortened(mut self) -> Self {
        if self.message.len() > MAX_EXCERPT {
            self.message = self.message.split(' ').map(excerpt).collect::<Vec<_>>().join(" ");
        }
        self
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.message)?;
        if !self.text.is_empty() {
            write!(f, ": `{}`", self.text)?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, " (nearest supported form: {nearest})")?;
        }
        Ok(())
    }
}

impl std::error::Error for PtxError {}

/// Longest excerpt of source text that an error shows, in characters.
const MAX_EXCERPT: usize = 120;

/// The same text on one line: what would end it, and every other control character, is written as Rust escapes it.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
        line
    })
}

/// One printable line of at most [`MAX_EXCERPT`] characters.
pub(crate) fn excerpt(text: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    for (i, c) in text.trim().chars().enumerate() {
        if i == MAX_EXCERPT {
            out.push('…');
            break;
        }
        if c.is_whitespace() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) {
            out.push(' ');
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
