//! Float arithmetic. To the nearest without modifiers, f32 and f64 run on the host's IEEE instructions; everything else
//! runs in integers ([`crate::soft`]).

use super::approx::approximate;
use super::lanes::{map1, map2, map3, versions};
use super::regs::Regs;
use crate::fma::Fma;
use crate::program::{Approx, Extreme, Float, FloatMode, FloatOp, Inst, LANES, Op, Round, Shape};
use crate::soft::Format;

versions!(run);

#[inline(always)]
fn run<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    let Op::Float(op, shape, mode) = i.op else { return };
    let plain = mode.round == Round::Nearest && !mode.ftz && !mode.sat && !mode.relu;
    match shape {
        Shape::One(Float::F32) if plain => f32_ops::<F>(regs, i, mask, op),
        Shape::One(Float::F64) if plain => f64_ops::<F>(regs, i, mask, op),
        Shape::Pair32 if plain => pair32_ops::<F>(regs, i, mask, op),
        _ => soft_ops(regs, i, mask, op, shape, mode),
    }
}

/// The bits of a result, any NaN as the one that f32 arithmetic of a device gives. The choice is between integers,
/// since LLVM takes one float NaN for another and drops it (`sqrt` at opt-level 3, LLVM 22).
#[inline(always)]
fn canonical32(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits }
}

/// What `max` gives: the other operand of a NaN (or NaN, where `nan` says so), and +0 before -0.
#[inline(always)]
fn max32(a: f32, b: f32, nan: bool) -> u32 {
    let larger = if a > b || (a == b && a.is_sign_positive()) { a } else { b };
    let number = if a.is_nan() { b } else { larger };
    let number = if b.is_nan() { a } else { number };
    canonical32(if nan && (a.is_nan() || b.is_nan()) { f32::NAN } else { number })
}

#[inline(always)]
fn min32(a: f32, b: f32, nan: bool) -> u32 {
    let smaller = if a < b || (a == b && a.is_sign_negative()) { a } else { b };
    let number = if a.is_nan() { b } else { smaller };
    let number = if b.is_nan() { a } else { number };
    canonical32(if nan && (a.is_nan() || b.is_nan()) { f32::NAN } else { number })
}

#[inline(always)]
fn f32_ops<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: FloatOp) {
    match op {
        FloatOp::Add => map2(regs, i, mask, |a: f32, b: f32| canonical32(a + b)),
        FloatOp::Sub => map2(regs, i, mask, |a: f32, b: f32| canonical32(a - b)),
        FloatOp::Mul => map2(regs, i, mask, |a: f32, b: f32| canonical32(a * b)),
        FloatOp::Fma => map3(regs, i, mask, |a: f32, b: f32, c: f32| canonical32(F::fma32(a, b, c))),
        FloatOp::Div => map2(regs, i, mask, |a: f32, b: f32| canonical32(a / b)),
        FloatOp::Sqrt => map1(regs, i, mask, |a: f32| canonical32(a.sqrt())),
        FloatOp::Rcp => map1(regs, i, mask, |a: f32| canonical32(1.0 / a)),
        FloatOp::Neg => map1(regs, i, mask, |a: f32| canonical32(-a)),
        FloatOp::Abs => map1(regs, i, mask, |a: f32| canonical32(a.abs())),
        FloatOp::Min { nan } => map2(regs, i, mask, |a: f32, b: f32| min32(a, b, nan)),
        FloatOp::Max { nan } => map2(regs, i, mask, |a: f32, b: f32| max32(a, b, nan)),
        FloatOp::Extreme(_) | FloatOp::Approx(_) => soft_ops(regs, i, mask, op, Shape::One(Float::F32), PLAIN),
    }
}

/// To the nearest, without modifiers.
const PLAIN: FloatMode = FloatMode { round: Round::Nearest, ftz: false, sat: false, relu: false };

/// f64 keeps the payload of a NaN operand, and hosts differ in which: lanes with a NaN go through integers.
#[inline(always)]
fn f64_or_soft(fast: f64, soft: impl Fn(Format) -> u64) -> f64 {
    if fast.is_nan() { f64::from_bits(soft(Float::F64.format())) } else { fast }
}

#[inline(always)]
fn f64_ops<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: FloatOp) {
    const RN: Round = Round::Nearest;
    let bits = f64::to_bits;
    match op {
        FloatOp::Add => map2(regs, i, mask, |a, b| f64_or_soft(a + b, |f| f.add(bits(a), bits(b), RN))),
        FloatOp::Sub => map2(regs, i, mask, |a, b| f64_or_soft(a - b, |f| f.sub(bits(a), bits(b), RN))),
        FloatOp::Mul => map2(regs, i, mask, |a, b| f64_or_soft(a * b, |f| f.mul(bits(a), bits(b), RN))),
        FloatOp::Fma => {
            map3(regs, i, mask, |a, b, c| f64_or_soft(F::fma64(a, b, c), |f| f.fma(bits(a), bits(b), bits(c), RN)));
        }
        FloatOp::Div => map2(regs, i, mask, |a, b| f64_or_soft(a / b, |f| f.div(bits(a), bits(b), RN))),
        FloatOp::Sqrt => map1(regs, i, mask, |a: f64| f64_or_soft(a.sqrt(), |f| f.sqrt(bits(a), RN))),
        FloatOp::Rcp => map1(regs, i, mask, |a| f64_or_soft(1.0 / a, |f| f.div(bits(1.0), bits(a), RN))),
        FloatOp::Neg | FloatOp::Abs => {
            map1(regs, i, mask, |a: u64| soft_one(Float::F64.format(), op, [a, 0, 0], PLAIN));
        }
        FloatOp::Min { .. } | FloatOp::Max { .. } => {
            map2(regs, i, mask, |a: u64, b: u64| soft_one(Float::F64.format(), op, [a, b, 0], PLAIN));
        }
        FloatOp::Extreme(_) | FloatOp::Approx(_) => soft_ops(regs, i, mask, op, Shape::One(Float::F64), PLAIN),
    }
}

/// Two f32 in 64 bits.
#[inline(always)]
fn pair32_ops<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: FloatOp) {
    let low = |x: u64| f32::from_bits(x as u32);
    let high = |x: u64| f32::from_bits((x >> 32) as u32);
    let join = |l: f32, h: f32| u64::from(canonical32(l)) | u64::from(canonical32(h)) << 32;
    match op {
        FloatOp::Add => map2(regs, i, mask, |a, b| join(low(a) + low(b), high(a) + high(b))),
        FloatOp::Sub => map2(regs, i, mask, |a, b| join(low(a) - low(b), high(a) - high(b))),
        FloatOp::Mul => map2(regs, i, mask, |a, b| join(low(a) * low(b), high(a) * high(b))),
        FloatOp::Fma => {
            map3(regs, i, mask, |a, b, c| join(F::fma32(low(a), low(b), low(c)), F::fma32(high(a), high(b), high(c))));
        }
        _ => soft_ops(regs, i, mask, op, Shape::Pair32, PLAIN),
    }
}

/// Any operation, format and mode, lane by lane.
#[inline(never)]
fn soft_ops(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: FloatOp, shape: Shape, mode: FloatMode) {
    let sources = match op {
        FloatOp::Fma | FloatOp::Extreme(Extreme { three: true, .. }) => 3,
        FloatOp::Sqrt | FloatOp::Rcp | FloatOp::Neg | FloatOp::Abs => 1,
        FloatOp::Approx(function) if !matches!(function, Approx::Div | Approx::DivFull) => 1,
        _ => 2,
    };
    let is_wide = matches!(shape, Shape::One(Float::F64) | Shape::Pair32);
    let mut operands = [[0u64; LANES]; 3];
    let mut known = u32::MAX;
    for (operand, &s) in operands.iter_mut().zip(&i.s[..sources]) {
        *operand = if is_wide { *regs.get64(s) } else { regs.get32(s).map(u64::from) };
        known &= if is_wide { regs.known64(s) } else { regs.known32(s) };
    }
    let (format, width) = match shape {
        Shape::One(float) => (float.format(), 64),
        Shape::Pair16(float) => (float.format(), 16),
        Shape::Pair32 => (Float::F32.format(), 32),
    };
    let mut out = [0u64; LANES];
    for (l, out) in out.iter_mut().enumerate().filter(|(l, _)| mask >> l & 1 != 0) {
        let lane = [operands[0][l], operands[1][l], operands[2][l]];
        *out = if width == 64 {
            soft_one(format, op, lane, mode)
        } else {
            let keep = (1u64 << width) - 1;
            let low = soft_one(format, op, lane.map(|x| x & keep), mode);
            low | soft_one(format, op, lane.map(|x| x >> width & keep), mode) << width
        };
    }
    if is_wide {
        regs.set64(i.d[0], &out, mask, known);
    } else {
        regs.set32(i.d[0], &out.map(|x| x as u32), mask, known);
    }
}

/// `min` or `max` of magnitudes, with the product's sign, or of three operands.
fn extreme(format: Format, how: Extreme, operands: [u64; 3]) -> u64 {
    let [a, b, c] = operands.map(|x| if how.abs { x & !format.sign_bit() } else { x });
    let pick = |x, y| if how.max { format.max(x, y, how.nan) } else { format.min(x, y, how.nan) };
    let two = pick(a, b);
    let result = if how.three { pick(two, c) } else { two };
    if how.xorsign && !format.is_nan(result) {
        result | (operands[0] ^ operands[1]) & format.sign_bit()
    } else {
        result
    }
}

/// One operation on bits of one format.
fn soft_one(format: Format, op: FloatOp, operands: [u64; 3], mode: FloatMode) -> u64 {
    let [a, b, c] = if mode.ftz { operands.map(|x| format.flush(x)) } else { operands };
    let format = Format { ftz: mode.ftz, ..format };
    let round = mode.round;
    let exact = match op {
        FloatOp::Add => format.add(a, b, round),
        FloatOp::Sub => format.sub(a, b, round),
        FloatOp::Mul => format.mul(a, b, round),
        FloatOp::Fma => format.fma(a, b, c, round),
        FloatOp::Div => format.div(a, b, round),
        FloatOp::Sqrt => format.sqrt(a, round),
        FloatOp::Rcp => format.div(format.one(), a, round),
        FloatOp::Neg => format.keep_or_nan(a, a ^ format.sign_bit()),
        FloatOp::Abs => format.keep_or_nan(a, a & !format.sign_bit()),
        FloatOp::Min { nan } => format.min(a, b, nan),
        FloatOp::Max { nan } => format.max(a, b, nan),
        FloatOp::Extreme(how) => extreme(format, how, [a, b, c]),
        FloatOp::Approx(function) => approximate(format, function, [a, b]),
    };
    match (mode.sat, mode.relu) {
        (true, _) => format.saturate(exact),
        (_, true) if !format.is_nan(exact) && exact & format.sign_bit() != 0 => 0,
        _ => exact,
    }
}
