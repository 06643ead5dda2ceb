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
    let bare = !cvt.integral && !cvt.ftz && !cvt.sat && !cvt.relu && !cvt.satfinite && !cvt.to_wide && !cvt.from_wide;
    let nearest = bare && cvt.round == Round::Nearest;
    match (cvt.to, cvt.from) {
        (Scalar::F32, Scalar::F16) if bare => map1(regs, i, mask, widen_f16),
        (Scalar::F32, Scalar::U32) if nearest => map1(regs, i, mask, |a: u32| a as f32),
        (Scalar::F32, Scalar::S32) if nearest => map1(regs, i, mask, |a: i32| a as f32),
        (Scalar::F16x2 | Scalar::Bf16x2 | Scalar::E4m3x2 | Scalar::E5m2x2, _) => pair(regs, i, mask, cvt),
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

/// Two conversions into one register: of two operands, the first on top, or of the parts of one.
#[inline(never)]
fn pair(regs: &mut Regs<'_>, i: &Inst, mask: u32, cvt: Cvt) {
    let (Some(from), Some(to)) = (Float::of(cvt.from), Float::of(cvt.to)) else { return };
    let width = cvt.to.bits() / 2;
    let (high, low, known) = if cvt.from.kind() == Kind::Packed {
        let (both, part) = (*regs.get32(i.s[0]), cvt.from.bits() / 2);
        let keep = (1 << part) - 1;
        (both.map(|x| x >> part & keep), both.map(|x| x & keep), regs.known32(i.s[0]))
    } else {
        (*regs.get32(i.s[0]), *regs.get32(i.s[1]), regs.known32(i.s[0]) & regs.known32(i.s[1]))
    };
    let one = |bits: u32| float_to_float(&cvt, u64::from(bits), from, to) as u32;
    let out = std::array::from_fn(|l| if mask >> l & 1 != 0 { one(high[l]) << width | one(low[l]) } else { 0 });
    regs.set32(i.d[0], &out, mask, known);
}

/// To the upper 19 bits of an f32; the others become zero.
fn to_tf32(cvt: &Cvt, bits: u64) -> u64 {
    const DROPPED: u32 = 13;
    if cvt.round != Round::Away {
        return float_to_float(cvt, bits, Float::F32, Float::Tf32) << DROPPED;
    }
    // As assemblers expand it: NaN is cut off like a number, and one that is left with no payload is an infinity.
    let is_past = |bits: u64| Float::F32.format().is_nan(bits) || bits << 1 & 0xffff_ffff == 0xff00_0000;
    let rounded = if is_past(bits) { bits } else { bits + (1 << (DROPPED - 1)) };
    let cut = rounded >> DROPPED << DROPPED;
    if cvt.satfinite && is_past(cut) { cut - (1 << DROPPED) } else { cut }
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
    if cvt.to == Scalar::Tf32 {
        return to_tf32(cvt, bits);
    }
    if is_move(cvt) {
        return bits << (cvt.to.bits() - cvt.from.bits());
    }
    match (Float::of(cvt.from), Float::of(cvt.to)) {
        (None, None) => int_to_int(cvt, bits),
        (None, Some(to)) => int_to_float(cvt, bits, to),
        (Some(from), None) => float_to_int(cvt, bits, from),
        (Some(from), Some(to)) => float_to_float(cvt, bits, from, to),
    }
}

/// Conversions that change no value: devices move the bits, those of NaNs too. bf16 is the high half of f32.
fn is_move(cvt: &Cvt) -> bool {
    let types = [(Scalar::F32, Scalar::F32), (Scalar::F64, Scalar::F64), (Scalar::F32, Scalar::Bf16)];
    types.contains(&(cvt.to, cvt.from)) && !cvt.integral && !cvt.ftz && !cvt.sat && !cvt.relu
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
    // An f32 goes through an addition that flushes it and makes its NaN the one of f32.
    let bits =
        if cvt.ftz && from == Float::F32 { from.format().keep_or_nan(bits, from.format().flush(bits)) } else { bits };
    let whole = if cvt.integral { from.format().round_integral(bits, cvt.round) } else { bits };
    let round = if cvt.integral { Round::Nearest } else { cvt.round };
    let result = to.format().convert(from.format(), whole, round);
    let result = if cvt.ftz && to == Float::F32 { to.format().flush(result) } else { result };
    let result = if cvt.satfinite { to.format().finite(result) } else { result };
    match (cvt.sat, cvt.relu) {
        (true, _) => to.format().saturate(result),
        (_, true) if !to.format().is_nan(result) && result & to.format().sign_bit() != 0 => 0,
        _ => result,
    }
}
