//! The exponential of contract section 4, eight at a time.

use std::arch::x86_64::{
    __m256, _CMP_LT_OQ, _CMP_UNORD_Q, _mm256_add_epi32, _mm256_andnot_ps, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cvtss_f32, _mm256_fmadd_ps, _mm256_set1_ps, _mm256_slli_epi32,
    _mm256_sub_ps,
};

use super::vector::{WIDTH, load, to_array};
use crate::constants::{COEFFICIENTS, CUT_OFF, LOG2E, MAGIC, MINUS_LN2_HI, MINUS_LN2_LO};

/// `E` of each element.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn exp(x: __m256) -> __m256 {
    let magic = _mm256_set1_ps(MAGIC);
    let one = _mm256_set1_ps(1.0);
    let t = _mm256_fmadd_ps(x, _mm256_set1_ps(LOG2E), magic);
    let n = _mm256_sub_ps(t, magic);
    let r = _mm256_fmadd_ps(n, _mm256_set1_ps(MINUS_LN2_HI), x);
    let r = _mm256_fmadd_ps(n, _mm256_set1_ps(MINUS_LN2_LO), r);
    let mut p = _mm256_set1_ps(COEFFICIENTS[0]);
    for coefficient in &COEFFICIENTS[1..] {
        p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(*coefficient));
    }
    p = _mm256_fmadd_ps(p, r, one);
    p = _mm256_fmadd_ps(p, r, one);
    let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256(t));
    let y = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
    // A NaN is unordered, so it passes the cut-off and is put back after.
    let tiny = _mm256_cmp_ps::<_CMP_LT_OQ>(x, _mm256_set1_ps(CUT_OFF));
    _mm256_blendv_ps(_mm256_andnot_ps(tiny, y), x, _mm256_cmp_ps::<_CMP_UNORD_Q>(x, x))
}

/// `E(x)` of one number.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn exp_one(x: f32) -> f32 {
    _mm256_cvtss_f32(exp(_mm256_set1_ps(x)))
}

/// `E` of a slice.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn exp_all(x: &[f32]) -> Vec<f32> {
    let (chunks, rest) = x.as_chunks::<WIDTH>();
    let mut out = Vec::with_capacity(x.len());
    for chunk in chunks {
        out.extend_from_slice(&to_array(exp(load(chunk))));
    }
    for &x in rest {
        out.push(exp_one(x));
    }
    out
}
