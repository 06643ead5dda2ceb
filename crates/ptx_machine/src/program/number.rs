//! Kinds of numbers, and how they are rounded.

use crate::types::Scalar;

/// Integer types that the executor tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Int {
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl Int {
    /// The integer reading of a type; bits read as unsigned.
    pub fn of(ty: Scalar) -> Option<Int> {
        match ty {
            Scalar::U16 | Scalar::B16 => Some(Int::U16),
            Scalar::S16 => Some(Int::S16),
            Scalar::U32 | Scalar::B32 => Some(Int::U32),
            Scalar::S32 => Some(Int::S32),
            Scalar::U64 | Scalar::B64 => Some(Int::U64),
            Scalar::S64 => Some(Int::S64),
            _ => None,
        }
    }

    pub fn bits(self) -> u32 {
        match self {
            Int::U16 | Int::S16 => 16,
            Int::U32 | Int::S32 => 32,
            Int::U64 | Int::S64 => 64,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Int::S16 | Int::S32 | Int::S64)
    }
}

/// Float formats that the executor tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Float {
    F16,
    Bf16,
    F32,
    F64,
    /// The 8-bit formats with 4 and with 5 bits of exponent.
    E4m3,
    E5m2,
    /// The upper 19 bits of an f32.
    Tf32,
}

impl Float {
    pub fn of(ty: Scalar) -> Option<Float> {
        match ty {
            Scalar::F16 | Scalar::F16x2 => Some(Float::F16),
            Scalar::Bf16 | Scalar::Bf16x2 => Some(Float::Bf16),
            Scalar::F32 | Scalar::F32x2 => Some(Float::F32),
            Scalar::F64 => Some(Float::F64),
            Scalar::E4m3x2 => Some(Float::E4m3),
            Scalar::E5m2x2 => Some(Float::E5m2),
            Scalar::Tf32 => Some(Float::Tf32),
            _ => None,
        }
    }
}

/// Direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Round {
    /// To the nearest, ties to even.
    Nearest,
    /// To the nearest, ties away from zero.
    Away,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

impl Round {
    /// Reads `rn` and `rni` alike.
    pub fn from_word(word: &str) -> Option<Round> {
        match word {
            "rn" | "rni" => Some(Round::Nearest),
            "rna" => Some(Round::Away),
            "rz" | "rzi" => Some(Round::Zero),
            "rm" | "rmi" => Some(Round::Down),
            "rp" | "rpi" => Some(Round::Up),
            _ => None,
        }
    }
}
