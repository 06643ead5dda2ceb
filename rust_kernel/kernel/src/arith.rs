//! The contract's arithmetic: one function per rounding, and the exponential (section 4).
//!
//! Rust's own `+`, `*` and `/` on f32 are not used anywhere in this crate. They would become PTX without a rounding
//! modifier, which ptxas is free to fuse. Each function here is one instruction whose text says `.rn`.

use cuda_device::{float, ptx_asm};

/// `rn(a + b)`.
#[inline(always)]
pub fn add(a: f32, b: f32) -> f32 {
    float::add_rn_f32(a, b)
}

/// `rn(a - b)`: in IEEE arithmetic the sum with the negated operand, to the last bit.
#[inline(always)]
pub fn sub(a: f32, b: f32) -> f32 {
    float::add_rn_f32(a, -b)
}

/// `rn(a * b)`.
#[inline(always)]
pub fn mul(a: f32, b: f32) -> f32 {
    float::mul_rn_f32(a, b)
}

/// `rn(a * b + c)` with one rounding.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    float::fma_rn_f32(a, b, c)
}

/// `rn(a / b)`.
#[inline(always)]
pub fn div(a: f32, b: f32) -> f32 {
    float::div_rn_f32(a, b)
}

/// The greater of two numbers, or the one that is a number where the other is NaN (sections 5.2 and 6).
#[inline(always)]
pub fn max(a: f32, b: f32) -> f32 {
    let greater: f32;
    // SAFETY: `max.f32` reads its two operands, writes its result and touches nothing else; it is no collective, so
    // it may run in any subset of the lanes. (`f32::max` would come out as two compares and two selects.)
    unsafe {
        ptx_asm!(
            "max.f32 %0, %1, %2;",
            out("=f") greater,
            in("f") a,
            in("f") b,
            options(register_only, may_diverge),
        );
    }
    greater
}

/// Sections 5 and 6: the maximum of no score. Finite, so that no difference of maxima is NaN.
pub const LOWEST: f32 = -f32::MAX;

const LOG2E: f32 = f32::from_bits(0x3FB8_AA3B);
const MAGIC: f32 = f32::from_bits(0x4B40_0000);
const NEG_LN2_HI: f32 = f32::from_bits(0xBF31_7218);
const NEG_LN2_LO: f32 = f32::from_bits(0x3102_E308);
const C2: f32 = f32::from_bits(0x3EFF_FFFE);
const C3: f32 = f32::from_bits(0x3E2A_AA4A);
const C4: f32 = f32::from_bits(0x3D2A_AC5F);
const C5: f32 = f32::from_bits(0x3C09_1C2B);
const C6: f32 = f32::from_bits(0x3AB5_1E84);
const CUT_OFF: f32 = f32::from_bits(0xC2AE_0000);

/// Section 4: `E(x)` for `x <= 0` or NaN, at most 1 ULP from `e^x`, +0 below -87.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // n = x / ln 2 rounded to a whole number: adding 1.5 * 2^23 leaves it in the low bits of t.
    let t = fma(x, LOG2E, MAGIC);
    let n = sub(t, MAGIC);
    // r = x - n * ln 2, with ln 2 in two parts.
    let r = fma(n, NEG_LN2_HI, x);
    let r = fma(n, NEG_LN2_LO, r);
    // e^r = 1 + r + r^2 * (C2 + C3 r + C4 r^2 + C5 r^3 + C6 r^4)
    let p = fma(C6, r, C5);
    let p = fma(p, r, C4);
    let p = fma(p, r, C3);
    let p = fma(p, r, C2);
    let p = fma(p, r, 1.0);
    let p = fma(p, r, 1.0);
    // Times 2^n: n goes straight to the exponent field. Below the cut-off, and for NaN, that sum is meaningless.
    let y = f32::from_bits(p.to_bits().wrapping_add(t.to_bits() << 23));
    let y = if x < CUT_OFF { 0.0 } else { y };
    if x.is_nan() { x } else { y }
}
