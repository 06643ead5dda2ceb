//! Arithmetic with the condition code: one bit a lane, kept as a predicate that no text can name.

use super::lanes::Word;
use super::regs::Regs;
use crate::program::{Carry, CarryOp, FULL, Inst, LANES};

#[inline(never)]
pub(super) fn carry(regs: &mut Regs<'_>, i: &Inst, how: Carry, mask: u32) {
    if how.wide {
        run::<u64>(regs, i, how, mask, 64);
    } else {
        run::<u32>(regs, i, how, mask, 32);
    }
}

fn run<T: Word + Into<u64> + Narrow>(regs: &mut Regs<'_>, i: &Inst, how: Carry, mask: u32, bits: u32) {
    let sources = if how.is_product() { 3 } else { 2 };
    let operand = |k: usize| if k < sources { T::load(regs, i.s[k]) } else { [T::ZERO; LANES] };
    let (a, b, c) = (operand(0), operand(1), operand(2));
    let (bit, mut known) = if how.reads { (regs.pred(i.s[3]), regs.known_pred(i.s[3])) } else { (0, FULL) };
    known &= i.s[..sources].iter().fold(FULL, |all, &s| all & T::known(regs, s));
    let mut out = [T::ZERO; LANES];
    let mut carried = 0;
    for l in 0..LANES {
        let [a, b, c] = [a[l], b[l], c[l]].map(Into::into);
        let (value, over) = lane(how, [a, b, c], u64::from(bit >> l & 1), bits);
        out[l] = T::narrow(value);
        carried |= u32::from(over) << l;
    }
    T::store(regs, i.d[0], out, mask, known);
    if how.writes {
        regs.set_pred(i.d[1], carried, mask, known);
    }
}

/// The low bits of the result, and the carry or borrow out of them.
fn lane(how: Carry, [a, b, c]: [u64; 3], bit: u64, bits: u32) -> (u64, bool) {
    let (x, y) = match how.op {
        CarryOp::Add | CarryOp::Sub => (a, b),
        CarryOp::MadLo | CarryOp::MadHi => (half_of_product(how, a, b, bits), c),
    };
    let (x, y) = (u128::from(x), u128::from(y) + u128::from(bit));
    if how.op == CarryOp::Sub { (x.wrapping_sub(y) as u64, x < y) } else { ((x + y) as u64, (x + y) >> bits != 0) }
}

fn half_of_product(how: Carry, a: u64, b: u64, bits: u32) -> u64 {
    let unused = 64 - bits;
    let signed = |x: u64| i128::from((x << unused) as i64 >> unused);
    let product = if how.signed { (signed(a) * signed(b)) as u128 } else { u128::from(a) * u128::from(b) };
    let half = if how.op == CarryOp::MadHi { product >> bits } else { product };
    half as u64 & u64::MAX >> unused
}

/// A word cut from 64 bits.
trait Narrow {
    fn narrow(bits: u64) -> Self;
}

impl Narrow for u32 {
    fn narrow(bits: u64) -> Self {
        bits as u32
    }
}

impl Narrow for u64 {
    fn narrow(bits: u64) -> Self {
        bits
    }
}
