//! Integer operations on words of 32 bits that have no form for other widths.

/// A function of up to three words of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordOp {
    /// Signed, clamped to the range of 32 bits.
    AddSat,
    SubSat,
    /// The high half of a signed product plus `c`, clamped.
    MadHiSat,
    /// A product of the low 24 bits, bits 0 to 31 or 16 to 47 of it, plus `c`.
    Mad24 {
        high: bool,
        signed: bool,
    },
    Mad24HiSat,
    /// Four products of bytes, added to `c`.
    Dp4a {
        a_signed: bool,
        b_signed: bool,
    },
    /// Products of the halves of `a` with two bytes of `b`, the low or the high ones, added to `c`.
    Dp2a {
        high: bool,
        a_signed: bool,
        b_signed: bool,
    },
    /// The halves of 16 bits, each by itself.
    Halves {
        op: Halves,
        signed: bool,
        relu: bool,
    },
    /// Signed minimum and maximum, negative results as 0.
    MinRelu,
    MaxRelu,
    /// `b` ones from bit `a` on.
    Bmsk {
        wrap: bool,
    },
    /// The low `b` bits of `a`, extended.
    Szext {
        wrap: bool,
        signed: bool,
    },
    /// The position of the `c`-th one of `a`, from bit `b` on.
    Fns,
    /// Two signed words packed with saturation into `bits` each, below the low bits of `c`.
    Pack {
        bits: u8,
        signed: bool,
    },
}

/// What is done to halves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halves {
    Add,
    Min,
    Max,
}

/// Addition, subtraction and multiplication with a carry (or borrow) bit a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is a property of its own, and all combinations exist.
pub(crate) struct Carry {
    pub op: CarryOp,
    /// 64 bits rather than 32.
    pub wide: bool,
    /// The factors of a product are signed.
    pub signed: bool,
    /// The bit is added; it is written.
    pub reads: bool,
    pub writes: bool,
}

impl Carry {
    /// Whether there is a third operand, which is added to a product.
    pub fn is_product(self) -> bool {
        matches!(self.op, CarryOp::MadLo | CarryOp::MadHi)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CarryOp {
    Add,
    Sub,
    MadLo,
    MadHi,
}
