//! Integer operations that are functions of up to three words of 32 bits.

use super::lanes::map3;
use super::regs::Regs;
use crate::program::{Halves, Inst, WordOp};

#[inline(never)]
pub(super) fn word(regs: &mut Regs<'_>, i: &Inst, op: WordOp, mask: u32) {
    map3(regs, i, mask, |a: u32, b: u32, c: u32| apply(op, a, b, c));
}

fn apply(op: WordOp, a: u32, b: u32, c: u32) -> u32 {
    let (x, y, z) = (a as i32, b as i32, c as i32);
    match op {
        WordOp::AddSat => x.saturating_add(y) as u32,
        WordOp::SubSat => x.saturating_sub(y) as u32,
        WordOp::MadHiSat => (((i64::from(x) * i64::from(y)) >> 32) as i32).saturating_add(z) as u32,
        WordOp::Mad24 { high, signed } => product24(a, b, high, signed).wrapping_add(c),
        WordOp::Mad24HiSat => (product24(a, b, true, true) as i32).saturating_add(z) as u32,
        WordOp::Dp4a { a_signed, b_signed } => {
            let product = |k: u32| byte(a, k, a_signed).wrapping_mul(byte(b, k, b_signed));
            (0..4).fold(c, |sum, k| sum.wrapping_add(product(k)))
        }
        WordOp::Dp2a { high, a_signed, b_signed } => {
            let first = if high { 2 } else { 0 };
            let product = |k: u32| half(a, k, a_signed).wrapping_mul(byte(b, first + k, b_signed));
            c.wrapping_add(product(0)).wrapping_add(product(1))
        }
        WordOp::Halves { op, signed, relu } => halves(op, signed, relu, a, b),
        WordOp::MinRelu => x.min(y).max(0) as u32,
        WordOp::MaxRelu => x.max(y).max(0) as u32,
        WordOp::Bmsk { wrap } => ones(a, b, wrap),
        WordOp::Szext { wrap, signed } => extended(a, b, wrap, signed),
        WordOp::Fns => nth_one(a, b, z),
        WordOp::Pack { bits, signed } => pack(x, y, c, u32::from(bits), signed),
    }
}

/// Bits 0 to 31, or 16 to 47, of the product of the low 24 bits.
fn product24(a: u32, b: u32, high: bool, signed: bool) -> u32 {
    let low = |x: u32| if signed { i64::from((x << 8) as i32 >> 8) } else { i64::from(x & 0xff_ffff) };
    let product = low(a) * low(b);
    if high { (product >> 16) as u32 } else { product as u32 }
}

fn byte(x: u32, k: u32, signed: bool) -> u32 {
    let byte = (x >> (8 * k)) as u8;
    if signed { byte as i8 as u32 } else { u32::from(byte) }
}

fn half(x: u32, k: u32, signed: bool) -> u32 {
    let half = (x >> (16 * k)) as u16;
    if signed { half as i16 as u32 } else { u32::from(half) }
}

fn halves(op: Halves, signed: bool, relu: bool, a: u32, b: u32) -> u32 {
    let one = |k: u32| {
        let (x, y) = (half(a, k, signed) as i32, half(b, k, signed) as i32);
        let result = match op {
            Halves::Add => x.wrapping_add(y),
            Halves::Min => x.min(y),
            Halves::Max => x.max(y),
        };
        (if relu { result.max(0) } else { result }) as u32 & 0xffff
    };
    one(0) | one(1) << 16
}

/// `width` ones from bit `first` on: both modulo 32, or past 31 with no effect but to reach the end.
fn ones(first: u32, width: u32, wrap: bool) -> u32 {
    let (first, width) = if wrap { (first & 31, width & 31) } else { (first.min(32), width.min(32)) };
    let below = |bit: u32| (1u64 << bit) - 1;
    (below((first + width).min(32)) & !below(first)) as u32
}

/// The low `width` bits, extended with their sign or with zeros.
fn extended(a: u32, width: u32, wrap: bool, signed: bool) -> u32 {
    let width = if wrap { width & 31 } else { width.min(32) };
    let shift = 32 - width;
    match (width, signed) {
        (0, _) => 0,
        (_, true) => ((a << shift) as i32 >> shift) as u32,
        (_, false) => a << shift >> shift,
    }
}

/// The position of the `|offset|`-th one, counted upwards or downwards from bit `base`, which counts; offset 0 asks for
/// that bit alone. All ones where there is none.
fn nth_one(bits: u32, base: u32, offset: i32) -> u32 {
    let is_one = |at: &u32| bits >> at & 1 == 1;
    let nth = offset.unsigned_abs().max(1) as usize - 1;
    let found = match offset {
        _ if base > 31 => None,
        0 => Some(base).filter(is_one),
        1.. => (base..32).filter(is_one).nth(nth),
        _ => (0..=base).rev().filter(is_one).nth(nth),
    };
    found.unwrap_or(u32::MAX)
}

fn pack(a: i32, b: i32, rest: u32, bits: u32, signed: bool) -> u32 {
    let (low, high) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let keep = (1u32 << bits) - 1;
    let part = |x: i32| x.clamp(low, high) as u32 & keep;
    // Two parts of 16 bits leave no room for anything else.
    let above = if bits == 16 { 0 } else { rest << (2 * bits) };
    above | part(a) << bits | part(b)
}
