//! The exponential `E` of contract section 4.

use super::fma::fma;
use crate::constants::{COEFFICIENTS, CUT_OFF, LOG2E, MAGIC, MINUS_LN2_HI, MINUS_LN2_LO};

/// `E(x)`, for `x <= 0` or NaN.
#[inline]
pub(crate) fn exp(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    if x < CUT_OFF {
        return 0.0;
    }
    let t = fma(x, LOG2E, MAGIC);
    let n = t - MAGIC;
    let r = fma(n, MINUS_LN2_HI, x);
    let r = fma(n, MINUS_LN2_LO, r);
    let [first, rest @ ..] = COEFFICIENTS;
    let p = rest.into_iter().fold(first, |p, coefficient| fma(p, r, coefficient));
    let p = fma(p, r, 1.0);
    let p = fma(p, r, 1.0);
    f32::from_bits(p.to_bits().wrapping_add(t.to_bits() << 23))
}
