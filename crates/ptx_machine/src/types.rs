//! Scalar types and state spaces of PTX.

use std::fmt;

/// How the bits of a value are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bits without a meaning.
    Bits,
    /// Unsigned integer.
    Unsigned,
    /// Two's complement integer.
    Signed,
    /// IEEE binary floating point.
    Float,
    /// bfloat16.
    Bfloat,
    /// Several numbers in one register, or one of fewer bits.
    Packed,
    /// One bit.
    Pred,
}

macro_rules! scalars {
    ($($name:ident $word:literal $kind:ident $bytes:literal),+ $(,)?) => {
        /// A scalar type of PTX. Shapes: one value a lane.
        #[allow(missing_docs)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Scalar { $($name),+ }

        impl Scalar {
            /// Every type.
            pub const ALL: &'static [Scalar] = &[$(Scalar::$name),+];

            /// The word that PTX uses, without the dot.
            pub fn word(self) -> &'static str {
                match self { $(Scalar::$name => $word),+ }
            }

            /// Size in bytes; 0 for a predicate, which has no place in memory.
            pub fn bytes(self) -> u32 {
                match self { $(Scalar::$name => $bytes),+ }
            }

            /// How the bits are read.
            pub fn kind(self) -> Kind {
                match self { $(Scalar::$name => Kind::$kind),+ }
            }

            /// The type that `word` names.
            pub fn from_word(word: &str) -> Option<Scalar> {
                match word { $($word => Some(Scalar::$name),)+ _ => None }
            }
        }
    };
}

scalars! {
    B8 "b8" Bits 1, B16 "b16" Bits 2, B32 "b32" Bits 4, B64 "b64" Bits 8,
    U8 "u8" Unsigned 1, U16 "u16" Unsigned 2, U32 "u32" Unsigned 4, U64 "u64" Unsigned 8,
    S8 "s8" Signed 1, S16 "s16" Signed 2, S32 "s32" Signed 4, S64 "s64" Signed 8,
    F16 "f16" Float 2, F32 "f32" Float 4, F64 "f64" Float 8, Bf16 "bf16" Bfloat 2,
    U16x2 "u16x2" Packed 4, S16x2 "s16x2" Packed 4,
    F16x2 "f16x2" Packed 4, Bf16x2 "bf16x2" Packed 4, F32x2 "f32x2" Packed 8,
    E4m3x2 "e4m3x2" Packed 2, E5m2x2 "e5m2x2" Packed 2, Tf32 "tf32" Packed 4,
    Pred "pred" Pred 0,
}

impl Scalar {
    /// Whether a register declared as `reg` may hold an operand of this type: the same size, and one of them
    /// untyped or both integers or both floats of one kind.
    pub fn accepts(self, reg: Scalar) -> bool {
        if self == Scalar::Pred || reg == Scalar::Pred {
            return self == reg;
        }
        self.bytes() == reg.bytes() && self.agrees(reg)
    }

    /// As [`Scalar::accepts`], but the register may be wider, as loads, stores and conversions allow.
    pub fn accepts_wider(self, reg: Scalar) -> bool {
        if self == Scalar::Pred || reg == Scalar::Pred {
            return self == reg;
        }
        match self.bytes().cmp(&reg.bytes()) {
            std::cmp::Ordering::Equal => self.agrees(reg),
            std::cmp::Ordering::Less => !matches!(self.kind(), Kind::Float) || reg.kind() == Kind::Bits,
            std::cmp::Ordering::Greater => false,
        }
    }

    fn agrees(self, reg: Scalar) -> bool {
        let int = |k| matches!(k, Kind::Unsigned | Kind::Signed);
        let (a, b) = (self.kind(), reg.kind());
        a == b || a == Kind::Bits || b == Kind::Bits || (int(a) && int(b))
    }

    /// Size in bits (1 for a predicate).
    pub fn bits(self) -> u32 {
        if self == Scalar::Pred { 1 } else { self.bytes() * 8 }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.word())
    }
}

/// A state space that can be addressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// Any of the others, by windows of one address space.
    Generic,
    /// Device memory.
    Global,
    /// Memory of a block.
    Shared,
    /// Memory of a lane.
    Local,
    /// Read-only memory of a module.
    Const,
    /// The arguments of a launch.
    Param,
}

impl Space {
    /// The word that PTX uses, without the dot; `generic` has none there.
    pub fn word(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        }
    }

    /// The space that `word` names, `shared::cta` and `param::entry` included.
    pub fn from_word(word: &str) -> Option<Space> {
        match word {
            "global" => Some(Space::Global),
            "shared" | "shared::cta" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "const" => Some(Space::Const),
            "param" | "param::entry" => Some(Space::Param),
            _ => None,
        }
    }

    /// First generic address of the space; address 0 of the space itself lies there.
    pub(crate) fn window(self) -> u64 {
        match self {
            Space::Generic | Space::Global => 0,
            Space::Shared => 0x7000_0000_0000,
            Space::Local => 0x7100_0000_0000,
            Space::Const => 0x7200_0000_0000,
            Space::Param => 0x7300_0000_0000,
        }
    }

    /// The space in whose window the generic address lies.
    pub(crate) fn of_generic(address: u64) -> Space {
        match address & !0xff_ffff_ffff {
            0x7000_0000_0000 => Space::Shared,
            0x7100_0000_0000 => Space::Local,
            0x7200_0000_0000 => Space::Const,
            0x7300_0000_0000 => Space::Param,
            _ => Space::Global,
        }
    }
}
