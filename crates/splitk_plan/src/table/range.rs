//! Ranges of a row, as the table's file writes them.

use std::fmt;
use std::str::FromStr;

/// Numbers from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The lowest.
    pub first: u32,
    /// The highest.
    pub last: u32,
}

impl Span {
    /// Every number.
    pub const ANY: Self = Self { first: 0, last: u32::MAX };

    /// Whether a number is in it.
    pub fn holds(&self, value: u32) -> bool {
        (self.first..=self.last).contains(&value)
    }
}

impl FromStr for Span {
    type Err = ();

    /// `any`, `N`, `N-M` or `N-`.
    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "any" {
            return Ok(Self::ANY);
        }
        let (first, last) = match text.split_once('-') {
            None => (number(text)?, number(text)?),
            Some((first, "")) => (number(first)?, u32::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
        };
        if first <= last { Ok(Self { first, last }) } else { Err(()) }
    }
}

/// Digits only: `parse` alone would let a sign through.
fn number(text: &str) -> Result<u32, ()> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().map_err(|_| ()) } else { Err(()) }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ANY => f.write_str("any"),
            Self { first, last } if first == last => write!(f, "{first}"),
            Self { first, last: u32::MAX } => write!(f, "{first}-"),
            Self { first, last } => write!(f, "{first}-{last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_reads_back_what_it_writes() {
        for text in ["any", "89", "1-6", "20001-"] {
            assert_eq!(text.parse::<Span>().expect("a span").to_string(), text);
        }
        assert_eq!("7".parse(), Ok(Span { first: 7, last: 7 }));
        assert_eq!("0-4294967295".parse(), Ok(Span::ANY));
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for text in ["", "-", "-3", "+3", "3-2", "3--4", "3-4-5", " 3", "4294967296", "all", "1,2"] {
            assert_eq!(text.parse::<Span>(), Err(()), "{text:?}");
        }
    }
}
