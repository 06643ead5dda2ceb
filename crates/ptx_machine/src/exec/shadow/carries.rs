//! Unknown bits of integer sums and products.

use super::values::Operand;
use crate::program::{Int, IntOp};

/// A value with its unknown bits.
#[derive(Debug, Clone, Copy)]
struct Partial {
    value: u64,
    unknown: u64,
}

impl Partial {
    fn low(self) -> u64 {
        self.value & !self.unknown
    }

    fn high(self) -> u64 {
        self.value | self.unknown
    }

    /// As many low bits as are known to be 0.
    fn zeros(self) -> u32 {
        self.high().trailing_zeros()
    }

    /// The known bits of a sum: those of both operands at places that no unknown carry reaches. Between the least and
    /// the greatest sum a carry changes only once, so that a place where both have the same one always has it.
    fn plus(self, other: Self) -> Self {
        let value = self.value.wrapping_add(other.value);
        let (least, most) = (self.low().wrapping_add(other.low()), self.high().wrapping_add(other.high()));
        Self { value, unknown: self.unknown | other.unknown | (least ^ most) }
    }

    fn minus(self, other: Self) -> Self {
        let value = self.value.wrapping_sub(other.value);
        let (least, most) = (self.low().wrapping_sub(other.high()), self.high().wrapping_sub(other.low()));
        Self { value, unknown: self.unknown | other.unknown | (least ^ most) }
    }

    /// A product is known below the lowest bit that an unknown one adds to.
    fn times(self, other: Self) -> Self {
        let value = self.value.wrapping_mul(other.value);
        let reach = |unknown: u64, zeros: u32| {
            if unknown == 0 { 0 } else { u64::MAX.checked_shl(unknown.trailing_zeros() + zeros).unwrap_or(0) }
        };
        Self { value, unknown: reach(self.unknown, other.zeros()) | reach(other.unknown, self.zeros()) }
    }
}

/// The unknown bits of a lane's result; all of them where they do not follow from the operands'.
pub(super) fn unknown(op: IntOp, ty: Int, operands: &[Operand], lane: usize) -> u64 {
    // Sums and the low half of products depend on no bit above the type's; the full product does on the sign.
    let bits = ty.bits();
    let own = |i: usize| extended(operands[i].values[lane], operands[i].unknown[lane], bits, ty.is_signed());
    let raw = |i: usize| Partial { value: operands[i].values[lane], unknown: operands[i].unknown[lane] };
    let (result, width) = match op {
        IntOp::Add => (own(0).plus(own(1)), bits),
        IntOp::Sub => (own(0).minus(own(1)), bits),
        IntOp::Neg => (Partial { value: 0, unknown: 0 }.minus(own(0)), bits),
        IntOp::MulLo => (own(0).times(own(1)), bits),
        IntOp::MadLo => (own(0).times(own(1)).plus(own(2)), bits),
        IntOp::MulWide => (own(0).times(own(1)), 2 * bits),
        IntOp::MadWide => (own(0).times(own(1)).plus(raw(2)), 2 * bits),
        _ => return u64::MAX,
    };
    result.unknown & (u64::MAX >> 64u32.saturating_sub(width))
}

/// The low bits of a register as a value of 64, an unknown sign in every bit that copies it.
fn extended(value: u64, unknown: u64, bits: u32, is_signed: bool) -> Partial {
    let unused = 64 - bits;
    let extend = |x: u64| {
        if is_signed { ((x << unused) as i64 >> unused) as u64 } else { x << unused >> unused }
    };
    Partial { value: extend(value), unknown: extend(unknown) }
}
