//! `cvt`: between integers and floats of every width.

use super::lanes::{map1, versions};
use super::regs::Regs;
use crate::fma::Fma;
use crate::program::{Cvt, Float, Inst, LANES, Op, Round};
use crate::soft::{Parts, shift_rounded};
use crate::types::{Kind, Scalar};

versions!(run);

#[inline(always)]
fn run<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    let Op::Cvt(cvt) = i.op else { return };
    let bare = !cvt.integral && !cvt.ftz && !cvt.sat && !cvt.relu && !cvt.to_wide && !cvt.from_wide;
    let nearest = bare && cvt.round == Round::Nearest;
    match (cvt.to, cvt.from) {
        (Scalar::F32, Scalar::F16) if bare => map1(regs, i, mask, widen_f16),
        (Scalar::F32, Scalar::U32) if nearest => map1(regs, i, mask, |a: u32| a as f32),
        (Scalar::F32, Scalar::S32) if nearest => map1(regs, i, mask, |a: i32| a as f32),
        (Scalar::F16x2 | Scalar::Bf16x2, _) => pair(regs, i, mask, cvt),
        _ => any(regs, i, mask, cvt),
    }
}

/// f16 to f32 without branches: the bits move to f32's places, and a multiplication puts the exponent right, which is
/// exact, subnormal numbers included.
#[inline(always)]
fn widen_f16(bits: u32) -> u32 {
    let magnitude = (bits & 0x7fff) << 13;
    let sign = (bits & 0x8000) << 16;
    // 2^112: the difference of the biases, 127 - 15.
    let number = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
    let wide = if bits & 0x7fff >= 0x7c00 { 0x7f80_0000 } else { number };
    if bits & 0x7fff > 0x7c00 { 0x7fff_ffff } else { wide | sign }
}

#[inline(never)]
fn any(regs: &mut Regs<'_>, i: &Inst, mask: u32, cvt: Cvt) {
    let (source, known) = if cvt.from_wide {
        (*regs.get64(i.s[0]), regs.known64(i.s[0]))
    } else {
        (regs.get32(i.s[0]).map(u64::from), regs.known32(i.s[0]))
    };
    let mut out = [0; LANES];
    for (l, out) in out.iter_mut().enumerate().filter(|(l, _)| mask >> l & 1 != 0) {
        *out = extend(convert(&cvt, source[l]), cvt.to);
    }
    if cvt.to_wide {
        regs.set64(i.d[0], &out, mask, known);
    } else {
        // A register of 16 bits keeps its value zero-extended, whatever the sign.
        let keep = if cvt.to_narrow { 0xffff } else { u32::MAX };
        regs.set32(i.d[0], &out.map(|x| x as u32 & keep), mask, known);
    }
}

/// Two conversions into one register, the first operand on top.
#[inline(never)]
fn pair(regs: &mut Regs<'_>, i: &Inst, mask: u32, cvt: Cvt) {
    let part = if cvt.to == Scalar::F16x2 { Scalar::F16 } else { Scalar::Bf16 };
    let one = Cvt { to: part, ..cvt };
    let (high, low) = (*regs.get32(i.s[0]), *regs.get32(i.s[1]));
    let known = regs.known32(i.s[0]) & regs.known32(i.s[1]);
    let each = |bits: u32| convert(&one, u64::from(bits)) as u32;
    let out = std::array::from_fn(|l| if mask >> l & 1 != 0 { each(high[l]) << 16 | each(low[l]) } else { 0 });
    regs.set32(i.d[0], &out, mask, known);
}

/// Fills a register of 64 bits from a value of type `ty`.
pub(super) fn extend(bits: u64, ty: Scalar) -> u64 {
    let unused = 64 - ty.bits();
    match ty.kind() {
        Kind::Signed => ((bits << unused) as i64 >> unused) as u64,
        _ => bits << unused >> unused,
    }
}

/// Converts the low bits of `bits`; the result's high bits have no meaning.
fn convert(cvt: &Cvt, bits: u64) -> u64 {
    let bits = extend(bits, cvt.from);
    match (Float::of(cvt.from), Float::of(cvt.to)) {
        (None, None) => int_to_int(cvt, bits),
        (None, Some(to)) => int_to_float(cvt, bits, to),
        (Some(from), None) => float_to_int(cvt, bits, from),
        (Some(from), Some(to)) => float_to_float(cvt, bits, from, to),
    }
}

/// Lowest and highest value of an integer type.
fn range(ty: Scalar) -> (i128, i128) {
    match ty.kind() {
        Kind::Signed => (-(1i128 << (ty.bits() - 1)), (1i128 << (ty.bits() - 1)) - 1),
        _ => (0, (1i128 << ty.bits()) - 1),
    }
}

fn value_of(bits: u64, ty: Scalar) -> i128 {
    if ty.kind() == Kind::Signed { i128::from(bits as i64) } else { i128::from(bits) }
}

fn int_to_int(cvt: &Cvt, bits: u64) -> u64 {
    if !cvt.sat {
        return bits;
    }
    let (low, high) = range(cvt.to);
    value_of(bits, cvt.from).clamp(low, high) as u64
}

fn int_to_float(cvt: &Cvt, bits: u64, to: Float) -> u64 {
    let value = value_of(bits, cvt.from);
    let result = to.format().round(value < 0, 0, value.unsigned_abs(), cvt.round);
    if cvt.sat { to.format().saturate(result) } else { result }
}

/// Clamps to the type's range; NaN gives 0, or, where one side has 64 bits, only the highest bit.
fn float_to_int(cvt: &Cvt, bits: u64, from: Float) -> u64 {
    let (low, high) = range(cvt.to);
    let bits = if cvt.ftz && from == Float::F32 { from.format().flush(bits) } else { bits };
    let value = match from.format().unpack(bits) {
        Parts::Nan if from == Float::F64 || cvt.to.bytes() == 8 => return 1 << (cvt.to.bits() - 1),
        Parts::Nan => 0,
        Parts::Infinite { sign } => {
            if sign {
                low
            } else {
                high
            }
        }
        Parts::Finite { sign, exp, sig } => {
            // Past 2^65 every type's range has ended.
            let magnitude = match exp {
                e if e > 65 => {
                    if sig == 0 {
                        0
                    } else {
                        i128::MAX
                    }
                }
                e if e >= 0 => (sig as i128) << e.min(65),
                e => shift_rounded(sig, -e, sign, cvt.round) as i128,
            };
            if sign { -magnitude } else { magnitude }
        }
    };
    value.clamp(low, high) as u64
}

fn float_to_float(cvt: &Cvt, bits: u64, from: Float, to: Float) -> u64 {
    let bits = if cvt.ftz && from == Float::F32 { from.format().flush(bits) } else { bits };
    let whole = if cvt.integral { from.format().round_integral(bits, cvt.round) } else { bits };
    let round = if cvt.integral { Round::Nearest } else { cvt.round };
    let result = to.format().convert(from.format(), whole, round);
    let result = if cvt.ftz && to == Float::F32 { to.format().flush(result) } else { result };
    match (cvt.sat, cvt.relu) {
        (true, _) => to.format().saturate(result),
        (_, true) if !to.format().is_nan(result) && result & to.format().sign_bit() != 0 => 0,
        _ => result,
    }
}
