//! Comparisons: `setp`, `set`, `testp`.

use super::bits::{join, lop3};
use super::lanes::{Word, lanes2, map2, map3, versions};
use super::regs::Regs;
use crate::fma::Fma;
use crate::program::{Cmp, CmpType, Float, Inst, Int, Join, LANES, Op, SetResult, Slot, Testp};

versions!(run);

#[inline(always)]
fn run<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    match i.op {
        Op::Setp(cmp, ty, how) => setp(regs, i, mask, cmp, ty, how),
        Op::Set(cmp, ty, how, result) => set(regs, i, mask, cmp, ty, how, result),
        Op::Testp(test, float) => testp(regs, i, mask, test, float),
        Op::Copysign(Float::F64) => {
            map2(regs, i, mask, |a: u64, b: u64| b & !(1 << 63) | a & (1 << 63));
        }
        Op::Lop3Test { table, join } => lop3_test(regs, i, mask, table, join),
        Op::Copysign(_) => map2(regs, i, mask, |a: u32, b: u32| b & !(1 << 31) | a & (1 << 31)),
        _ => {}
    }
}

#[inline(always)]
fn setp(regs: &mut Regs<'_>, i: &Inst, mask: u32, cmp: Cmp, ty: CmpType, how: Join) {
    // The second result joins the comparison of the upper halves, or the opposite of the only one.
    let (first, second) = if let CmpType::Pair(float, ftz) = ty {
        let halves = [0, 1].map(|half| narrow_compare(regs, i, cmp, float, ftz, half));
        (halves[0], halves[1])
    } else {
        let (holds, known) = compare(regs, i, cmp, ty);
        ((holds, known), (!holds, known))
    };
    let other = joined(regs, i.s[2], how);
    let (value, value_known) = join(first, other, how);
    regs.set_pred(i.d[0], value, mask, value_known);
    if i.d[1] != Slot::NONE {
        let (value, value_known) = join(second, other, how);
        regs.set_pred(i.d[1], value, mask, value_known);
    }
}

#[inline(always)]
fn set(regs: &mut Regs<'_>, i: &Inst, mask: u32, cmp: Cmp, ty: CmpType, how: Join, result: SetResult) {
    let yes = match result {
        SetResult::Ones => u32::MAX,
        SetResult::Ones16 => 0xffff,
        SetResult::One(Float::F16) => 0x3c00,
        SetResult::One(Float::Bf16) => 0x3f80,
        SetResult::One(_) => 0x3f80_0000,
    };
    let other = joined(regs, i.s[2], how);
    let choose = |lanes: u32, l: usize, yes: u32| if lanes >> l & 1 != 0 { yes } else { 0 };
    if let CmpType::Pair(float, ftz) = ty {
        let [low, high] = [0, 1].map(|half| join(narrow_compare(regs, i, cmp, float, ftz, half), other, how));
        let out = std::array::from_fn(|l| choose(low.0, l, yes) | choose(high.0, l, yes << 16));
        regs.set32(i.d[0], &out, mask, low.1 & high.1);
    } else {
        let (value, known) = join(compare(regs, i, cmp, ty), other, how);
        regs.set32(i.d[0], &std::array::from_fn(|l| choose(value, l, yes)), mask, known);
    }
}

fn lop3_test(regs: &mut Regs<'_>, i: &Inst, mask: u32, table: u8, how: Join) {
    let other = joined(regs, i.s[3], how);
    map3(regs, i, mask, |a: u32, b: u32, c: u32| lop3(table, a, b, c));
    let holds = regs.get32(i.d[0]).iter().enumerate().fold(0, |all, (l, &x)| all | u32::from(x != 0) << l);
    let (value, known) = join((holds, regs.known32(i.d[0])), other, how);
    regs.set_pred(i.d[1], value, mask, known);
}

#[inline(always)]
fn joined(regs: &Regs<'_>, s: Slot, how: Join) -> (u32, u32) {
    if how == Join::None { (0, 0) } else { (regs.pred(s), regs.known_pred(s)) }
}

/// The lanes in which the comparison holds, and those in which it is known.
#[inline(always)]
fn compare(regs: &Regs<'_>, i: &Inst, cmp: Cmp, ty: CmpType) -> (u32, u32) {
    match ty {
        CmpType::Int(Int::U16) => ordered::<u16>(regs, i, cmp),
        CmpType::Int(Int::S16) => ordered::<i16>(regs, i, cmp),
        CmpType::Int(Int::U32) => ordered::<u32>(regs, i, cmp),
        CmpType::Int(Int::S32) => ordered::<i32>(regs, i, cmp),
        CmpType::Int(Int::U64) => ordered::<u64>(regs, i, cmp),
        CmpType::Int(Int::S64) => ordered::<i64>(regs, i, cmp),
        CmpType::Float(Float::F64, _) => float_compare::<f64>(regs, i, cmp, |x| x),
        CmpType::Float(Float::F32, false) => float_compare::<f32>(regs, i, cmp, |x| x),
        CmpType::Float(Float::F32, true) => {
            float_compare::<f32>(regs, i, cmp, |x| if x.is_subnormal() { 0.0 } else { x })
        }
        CmpType::Float(narrow, ftz) | CmpType::Pair(narrow, ftz) => narrow_compare(regs, i, cmp, narrow, ftz, 0),
    }
}

#[inline(always)]
fn ordered<T: Word + Ord>(regs: &Regs<'_>, i: &Inst, cmp: Cmp) -> (u32, u32) {
    let (a, b) = (T::load(regs, i.s[0]), T::load(regs, i.s[1]));
    let holds = match cmp {
        Cmp::Eq | Cmp::Equ => lanes2(&a, &b, |x, y| x == y),
        Cmp::Ne | Cmp::Neu => lanes2(&a, &b, |x, y| x != y),
        Cmp::Lt | Cmp::Ltu => lanes2(&a, &b, |x, y| x < y),
        Cmp::Le | Cmp::Leu => lanes2(&a, &b, |x, y| x <= y),
        Cmp::Gt | Cmp::Gtu => lanes2(&a, &b, |x, y| x > y),
        Cmp::Ge | Cmp::Geu => lanes2(&a, &b, |x, y| x >= y),
        Cmp::Num => u32::MAX,
        Cmp::Nan => 0,
    };
    (holds, T::known(regs, i.s[0]) & T::known(regs, i.s[1]))
}

#[inline(always)]
fn float_compare<T: Word + PartialOrd>(regs: &Regs<'_>, i: &Inst, cmp: Cmp, flush: impl Fn(T) -> T) -> (u32, u32) {
    let (a, b) = (T::load(regs, i.s[0]).map(&flush), T::load(regs, i.s[1]).map(&flush));
    let known = T::known(regs, i.s[0]) & T::known(regs, i.s[1]);
    (compare_floats(&a, &b, cmp), known)
}

#[inline(always)]
// `x < y || x > y` is not `x != y` where one is NaN.
#[allow(clippy::double_comparisons)]
fn compare_floats<T: Copy + PartialOrd>(a: &[T; LANES], b: &[T; LANES], cmp: Cmp) -> u32 {
    // Every comparison with NaN is false: the unordered forms are the opposite of the opposite comparison.
    match cmp {
        Cmp::Eq => lanes2(a, b, |x, y| x == y),
        Cmp::Ne => lanes2(a, b, |x, y| x < y || x > y),
        Cmp::Lt => lanes2(a, b, |x, y| x < y),
        Cmp::Le => lanes2(a, b, |x, y| x <= y),
        Cmp::Gt => lanes2(a, b, |x, y| x > y),
        Cmp::Ge => lanes2(a, b, |x, y| x >= y),
        Cmp::Equ => !lanes2(a, b, |x, y| x < y || x > y),
        Cmp::Neu => lanes2(a, b, |x, y| x != y),
        Cmp::Ltu => !lanes2(a, b, |x, y| x >= y),
        Cmp::Leu => !lanes2(a, b, |x, y| x > y),
        Cmp::Gtu => !lanes2(a, b, |x, y| x <= y),
        Cmp::Geu => !lanes2(a, b, |x, y| x < y),
        Cmp::Num => lanes2(a, b, |x, y| x <= y || x > y),
        Cmp::Nan => !lanes2(a, b, |x, y| x <= y || x > y),
    }
}

/// f16 and bf16 in the low (0) or high (1) half, widened to f32, which is exact.
fn narrow_compare(regs: &Regs<'_>, i: &Inst, cmp: Cmp, float: Float, ftz: bool, half: u32) -> (u32, u32) {
    let widen = |word: u32| {
        let bits = u64::from(word >> (16 * half) & 0xffff);
        let flushed = if ftz { float.format().flush(bits) } else { bits };
        f32::from_bits(Float::F32.format().convert(float.format(), flushed, crate::program::Round::Nearest) as u32)
    };
    let (a, b) = (regs.get32(i.s[0]).map(widen), regs.get32(i.s[1]).map(widen));
    (compare_floats(&a, &b, cmp), regs.known32(i.s[0]) & regs.known32(i.s[1]))
}

fn testp(regs: &mut Regs<'_>, i: &Inst, mask: u32, test: Testp, float: Float) {
    let format = float.format();
    let (value, known) = if float == Float::F64 {
        (*regs.get64(i.s[0]), regs.known64(i.s[0]))
    } else {
        (regs.get32(i.s[0]).map(u64::from), regs.known32(i.s[0]))
    };
    let holds = |bits: u64| {
        let magnitude = bits & !format.sign_bit();
        let infinity = format.infinity(false);
        match test {
            Testp::Finite => magnitude < infinity,
            Testp::Infinite => magnitude == infinity,
            Testp::Number => magnitude <= infinity,
            Testp::NotANumber => magnitude > infinity,
            // Zeros count as normal.
            Testp::Normal => magnitude < infinity && !format.is_subnormal(magnitude),
            Testp::Subnormal => format.is_subnormal(bits),
        }
    };
    let value = value.iter().enumerate().fold(0, |all, (l, &bits)| all | u32::from(holds(bits)) << l);
    regs.set_pred(i.d[0], value, mask, known);
}
