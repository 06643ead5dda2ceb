//! Numbers as PTX writes them.

/// A constant operand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Immediate {
    /// `12`, `-3`, `0xffff`.
    Int(i128),
    /// `0f3F800000`: the bits of an f32.
    F32(u32),
    /// `0d…` or a decimal with a point: the bits of an f64.
    F64(u64),
}

impl Immediate {
    /// The number that `text` writes, or what is allowed instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bytes = text.as_bytes();
        let prefix = |n: usize| text.get(n..).unwrap_or("");
        let tag = if bytes.first() == Some(&b'0') { bytes.get(1).map(u8::to_ascii_lowercase) } else { None };
        match tag {
            Some(b'f') => bits(text, prefix(2), 8).map(|b| Self::F32(b as u32)),
            Some(b'd') => bits(text, prefix(2), 16).map(Self::F64),
            Some(b'x') => integer(text, prefix(2), 16),
            Some(b'b') => integer(text, prefix(2), 2),
            _ if text.contains(['.', 'e', 'E']) => match text.parse::<f64>() {
                Ok(value) => Ok(Self::F64(value.to_bits())),
                Err(_) => Err(format!("{text} is no number")),
            },
            Some(b'0'..=b'7') => integer(text, prefix(1), 8),
            _ => integer(text, text, 10),
        }
    }

    /// The same with its sign changed; `None` for the bits of a float, which carry their own sign.
    pub fn negated(self) -> Option<Self> {
        match self {
            Self::Int(value) => Some(Self::Int(-value)),
            Self::F64(bits) => Some(Self::F64(bits ^ 1 << 63)),
            Self::F32(_) => None,
        }
    }
}

fn bits(text: &str, digits: &str, count: usize) -> Result<u64, String> {
    let parsed = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == count);
    parsed
        .ok_or_else(|| format!("{text} is no float literal; allowed: {count} hexadecimal digits after {}", &text[..2]))
}

/// An integer, with the `U` that may follow one.
fn integer(text: &str, digits: &str, radix: u32) -> Result<Immediate, String> {
    let digits = digits.strip_suffix(['u', 'U']).unwrap_or(digits);
    match u64::from_str_radix(digits, radix) {
        Ok(value) => Ok(Immediate::Int(i128::from(value))),
        Err(_) => Err(format!("{text} is no integer of up to 64 bits")),
    }
}
