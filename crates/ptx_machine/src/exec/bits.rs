//! Operations on bits, moves and selections.

use super::lanes::{each, map1, map2, map3, map4, versions};
use super::regs::Regs;
use crate::fma::Fma;
use crate::program::{BitOp, CmpType, Float, Inst, Int, Join, LANES, Op, Prmt, Slot};

versions!(run);

#[inline(always)]
fn run<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    match i.op {
        Op::Bits(op, Int::U16) => u16_ops(regs, i, mask, op),
        Op::Bits(op, Int::S16) => i16_ops(regs, i, mask, op),
        Op::Bits(op, Int::U32) => u32_ops(regs, i, mask, op),
        Op::Bits(op, Int::S32) => i32_ops(regs, i, mask, op),
        Op::Bits(op, Int::U64) => u64_ops(regs, i, mask, op),
        Op::Bits(op, Int::S64) => i64_ops(regs, i, mask, op),
        Op::PredLogic(op) => pred_logic(regs, i, mask, op),
        Op::Mov32 => map1(regs, i, mask, |a: u32| a),
        Op::Mov64 => map1(regs, i, mask, |a: u64| a),
        Op::MovPred => {
            let (value, known) = (regs.pred(i.s[0]), regs.known_pred(i.s[0]));
            regs.set_pred(i.d[0], value, mask, known);
        }
        Op::Pack { part, count } => pack(regs, i, mask, u32::from(part), usize::from(count)),
        Op::Unpack { part, count } => unpack(regs, i, mask, u32::from(part), usize::from(count)),
        Op::Selp32 => selp32(regs, i, mask),
        Op::Selp64 => selp64(regs, i, mask),
        Op::Slct { wide, by } => slct(regs, i, mask, wide, by),
        _ => {}
    }
}

/// The operations on one type; `$unsigned` has the same bits without a sign.
macro_rules! ops {
    ($name:ident, $fields:ident, $t:ty, $unsigned:ty) => {
        #[inline(always)]
        fn $name(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: BitOp) {
            type T = $t;
            // A shift past the width leaves only zeros, or copies of the sign.
            let last = T::BITS - 1;
            match op {
                BitOp::And => map2(regs, i, mask, |a: T, b: T| a & b),
                BitOp::Or => map2(regs, i, mask, |a: T, b: T| a | b),
                BitOp::Xor => map2(regs, i, mask, |a: T, b: T| a ^ b),
                BitOp::Not => map1(regs, i, mask, |a: T| !a),
                BitOp::Cnot => map1(regs, i, mask, |a: T| T::from(a == 0)),
                BitOp::Shl => map2(regs, i, mask, |a: T, n: u32| if n > last { 0 } else { a << (n & last) }),
                BitOp::Shr => {
                    map2(regs, i, mask, |a: T, n: u32| if n > last { (a >> last) >> 1 } else { a >> (n & last) });
                }
                BitOp::Brev => map1(regs, i, mask, |a: T| a.reverse_bits()),
                BitOp::Clz => map1(regs, i, mask, |a: T| a.leading_zeros()),
                BitOp::Popc => map1(regs, i, mask, |a: T| a.count_ones()),
                BitOp::Bfe | BitOp::Bfi | BitOp::Bfind { .. } => $fields(regs, i, mask, op),
                BitOp::Lop3 { table } => map3(regs, i, mask, |a: T, b: T, c: T| {
                    let term = |bit: u32, value: T| if table >> bit & 1 == 1 { value } else { 0 };
                    term(0, !a & !b & !c)
                        | term(1, !a & !b & c)
                        | term(2, !a & b & !c)
                        | term(3, !a & b & c)
                        | term(4, a & !b & !c)
                        | term(5, a & !b & c)
                        | term(6, a & b & !c)
                        | term(7, a & b & c)
                }),
                BitOp::Shf { left, wrap } => map3(regs, i, mask, |a: u32, b: u32, n: u32| funnel(a, b, n, left, wrap)),
                BitOp::Prmt(mode) => map3(regs, i, mask, |a: u32, b: u32, c: u32| permute(a, b, c, mode)),
            }
        }

        /// Bit fields and leading bits.
        #[inline(always)]
        fn $fields(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: BitOp) {
            type T = $t;
            type U = $unsigned;
            let last = T::BITS - 1;
            match op {
                BitOp::Bfe => map3(regs, i, mask, |a: T, position: u32, length: u32| {
                    let (position, length) = (position & 0xff, length & 0xff);
                    if length == 0 {
                        return 0;
                    }
                    // Bits past the top read as the sign (0 without one).
                    let shifted = if position > last { (a >> last) >> 1 } else { a >> position };
                    let top = last.saturating_sub(length - 1);
                    let signed_top = T::BITS.saturating_sub(position).min(length);
                    if signed_top == length { (shifted << top) >> top } else { shifted }
                }),
                BitOp::Bfi => map4(regs, i, mask, |a: T, b: T, position: u32, length: u32| {
                    let (position, length) = (position & 0xff, length & 0xff);
                    if length == 0 || position > last {
                        return b;
                    }
                    let field = (U::MAX >> (T::BITS - length.min(T::BITS))) << position;
                    ((a as U) << position & field | b as U & !field) as T
                }),
                BitOp::Bfind { shift } => map1(regs, i, mask, |a: T| {
                    // The sign is what the leading bit must differ from.
                    let sign = (a >> last) >> 1;
                    let zeros = (a ^ sign).leading_zeros();
                    match (zeros > last, shift) {
                        (true, _) => u32::MAX,
                        (false, true) => zeros,
                        (false, false) => last - zeros,
                    }
                }),
                _ => {}
            }
        }
    };
}

ops!(u16_ops, u16_fields, u16, u16);
ops!(i16_ops, i16_fields, i16, u16);
ops!(u32_ops, u32_fields, u32, u32);
ops!(i32_ops, i32_fields, i32, u32);
ops!(u64_ops, u64_fields, u64, u64);
ops!(i64_ops, i64_fields, i64, u64);

/// Any function of three bits, by the table of its eight values.
#[inline(always)]
pub(super) fn lop3(table: u8, a: u32, b: u32, c: u32) -> u32 {
    (0..8).filter(|bit| table >> bit & 1 == 1).fold(0, |all, bit| {
        let pick = |value: u32, is_one: bool| if is_one { value } else { !value };
        all | pick(a, bit & 4 != 0) & pick(b, bit & 2 != 0) & pick(c, bit & 1 != 0)
    })
}

/// A 32-bit window of the 64 bits `b:a`.
#[inline(always)]
fn funnel(a: u32, b: u32, n: u32, left: bool, wrap: bool) -> u32 {
    let n = if wrap { n & 31 } else { n.min(32) };
    let both = u64::from(b) << 32 | u64::from(a);
    if left { (both << n >> 32) as u32 } else { (both >> n) as u32 }
}

/// Four bytes picked from the eight of `b:a`.
#[inline(always)]
fn permute(a: u32, b: u32, c: u32, mode: Prmt) -> u32 {
    let both = u64::from(b) << 32 | u64::from(a);
    let byte = |selector: u32| {
        let value = (both >> ((selector & 7) * 8)) as u8;
        // Bit 3 of a selector replicates the byte's sign.
        if selector & 8 != 0 { ((value as i8) >> 7) as u8 } else { value }
    };
    let c2 = c & 3;
    let pick = |k: u32| match mode {
        Prmt::Index => c >> (4 * k) & 15,
        Prmt::F4e => (c2 + k) & 7,
        Prmt::B4e => c2.wrapping_sub(k) & 7,
        Prmt::Rc8 => c2,
        Prmt::Ecl => c2.max(k),
        Prmt::Ecr => c2.min(k),
        Prmt::Rc16 => (c2 & 1) * 2 + (k & 1),
    };
    u32::from_le_bytes([byte(pick(0)), byte(pick(1)), byte(pick(2)), byte(pick(3))])
}

#[inline(always)]
fn pred_logic(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: BitOp) {
    let a = (regs.pred(i.s[0]), regs.known_pred(i.s[0]));
    let (value, known) = if op == BitOp::Not {
        (!a.0, a.1)
    } else {
        let b = (regs.pred(i.s[1]), regs.known_pred(i.s[1]));
        let how = match op {
            BitOp::And => Join::And,
            BitOp::Or => Join::Or,
            _ => Join::Xor,
        };
        join(a, b, how)
    };
    regs.set_pred(i.d[0], value, mask, known);
}

/// Two predicates, each a value and where it is known, as one; a false `and` or a true `or` is known from one of them.
#[inline(always)]
pub(super) fn join(a: (u32, u32), b: (u32, u32), how: Join) -> (u32, u32) {
    let both = a.1 & b.1;
    match how {
        Join::None => a,
        Join::And => (a.0 & b.0, both | a.1 & !a.0 | b.1 & !b.0),
        Join::Or => (a.0 | b.0, both | a.1 & a.0 | b.1 & b.0),
        Join::Xor => (a.0 ^ b.0, both),
    }
}

#[inline(always)]
fn pack(regs: &mut Regs<'_>, i: &Inst, mask: u32, part: u32, count: usize) {
    let mut out = [0u64; LANES];
    let mut known = mask;
    for (k, &s) in i.s[..count].iter().enumerate() {
        known &= regs.known32(s);
        let value = regs.get32(s);
        for l in 0..LANES {
            out[l] |= u64::from(value[l]) << (part * k as u32);
        }
    }
    if part * count as u32 == 64 {
        regs.set64(i.d[0], &out, mask, known);
    } else {
        regs.set32(i.d[0], &each(&out, |x| x as u32), mask, known);
    }
}

#[inline(always)]
fn unpack(regs: &mut Regs<'_>, i: &Inst, mask: u32, part: u32, count: usize) {
    let (value, known) = if part * count as u32 == 64 {
        (*regs.get64(i.s[0]), regs.known64(i.s[0]))
    } else {
        (each(regs.get32(i.s[0]), u64::from), regs.known32(i.s[0]))
    };
    let keep = u32::MAX >> (32 - part);
    for (k, &d) in i.d[..count].iter().enumerate() {
        let out = each(&value, |x| (x >> (part * k as u32)) as u32 & keep);
        regs.set32(d, &out, mask, known);
    }
}

/// Lanes in which the result of a selection is known: the selector, and the operand that it selects.
#[inline(always)]
fn known_selection(pick: u32, known_pick: u32, known_a: u32, known_b: u32) -> u32 {
    known_pick & (pick & known_a | !pick & known_b)
}

#[inline(always)]
fn selp32(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    let pick = regs.pred(i.s[2]);
    let known = known_selection(pick, regs.known_pred(i.s[2]), regs.known32(i.s[0]), regs.known32(i.s[1]));
    select32(regs, i, pick, mask, known);
}

#[inline(always)]
fn selp64(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    let pick = regs.pred(i.s[2]);
    let known = known_selection(pick, regs.known_pred(i.s[2]), regs.known64(i.s[0]), regs.known64(i.s[1]));
    select64(regs, i, pick, mask, known);
}

#[inline(always)]
fn select32(regs: &mut Regs<'_>, i: &Inst, pick: u32, mask: u32, known: u32) {
    let (a, b) = (*regs.get32(i.s[0]), *regs.get32(i.s[1]));
    let mut out = b;
    for l in 0..LANES {
        out[l] = if pick >> l & 1 != 0 { a[l] } else { b[l] };
    }
    regs.set32(i.d[0], &out, mask, known);
}

#[inline(always)]
fn select64(regs: &mut Regs<'_>, i: &Inst, pick: u32, mask: u32, known: u32) {
    let (a, b) = (*regs.get64(i.s[0]), *regs.get64(i.s[1]));
    let mut out = b;
    for l in 0..LANES {
        out[l] = if pick >> l & 1 != 0 { a[l] } else { b[l] };
    }
    regs.set64(i.d[0], &out, mask, known);
}

/// Selection by the sign of an s32 or f32; -0 counts as not negative, NaN as negative.
fn slct(regs: &mut Regs<'_>, i: &Inst, mask: u32, wide: bool, by: CmpType) {
    let c = *regs.get32(i.s[2]);
    let mut pick = 0;
    for (l, &bits) in c.iter().enumerate() {
        let is_nonnegative = match by {
            CmpType::Float(_, ftz) | CmpType::Pair(_, ftz) => {
                let bits = if ftz { Float::F32.format().flush(u64::from(bits)) as u32 } else { bits };
                f32::from_bits(bits) >= 0.0
            }
            CmpType::Int(_) => (bits as i32) >= 0,
        };
        pick |= u32::from(is_nonnegative) << l;
    }
    let known = |regs: &Regs<'_>, s: Slot| if wide { regs.known64(s) } else { regs.known32(s) };
    let known = known_selection(pick, regs.known32(i.s[2]), known(regs, i.s[0]), known(regs, i.s[1]));
    if wide {
        select64(regs, i, pick, mask, known);
    } else {
        select32(regs, i, pick, mask, known);
    }
}
