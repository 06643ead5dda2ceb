//! Eight f32 at a time: loads, stores and the shuffles that a sum over lanes needs.

use std::arch::x86_64::{
    __m256, _mm_cvtss_f32, _mm_fmadd_ss, _mm_set_ss, _mm256_add_ps, _mm256_loadu_ps, _mm256_permute2f128_ps,
    _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

/// Elements of a vector.
pub(super) const WIDTH: usize = 8;

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn load(from: &[f32; WIDTH]) -> __m256 {
    // SAFETY: the array is 32 readable bytes, and the load asks for no alignment.
    unsafe { _mm256_loadu_ps(from.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn store(to: &mut [f32; WIDTH], value: __m256) {
    // SAFETY: the array is 32 writable bytes, borrowed for writing, and the store asks for no alignment.
    unsafe { _mm256_storeu_ps(to.as_mut_ptr(), value) }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn to_array(value: __m256) -> [f32; WIDTH] {
    let mut array = [0.0; WIDTH];
    store(&mut array, value);
    array
}

/// `a · b + c` of single numbers, by the instruction: `f32::mul_add` would call the C library where it is not inlined.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn fma_one(a: f32, b: f32, c: f32) -> f32 {
    _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)))
}

/// Transposes the low 4 x 4 and the high 4 x 4 elements: result `i` holds element `i` of each row, half by half.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn transpose_halves(rows: [__m256; 4]) -> [__m256; 4] {
    let [a, b, c, d] = rows;
    let ab_low = _mm256_unpacklo_ps(a, b);
    let ab_high = _mm256_unpackhi_ps(a, b);
    let cd_low = _mm256_unpacklo_ps(c, d);
    let cd_high = _mm256_unpackhi_ps(c, d);
    [
        _mm256_shuffle_ps::<0x44>(ab_low, cd_low),
        _mm256_shuffle_ps::<0xEE>(ab_low, cd_low),
        _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
        _mm256_shuffle_ps::<0xEE>(ab_high, cd_high),
    ]
}

/// The levels 4, 2, 1 of the xor tree, for eight vectors at once: element `i` of the result is the sum of vector `i`.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn sum_each(vectors: &[__m256; WIDTH]) -> __m256 {
    let mut by_4 = [vectors[0]; 4];
    for (i, sum) in by_4.iter_mut().enumerate() {
        let low = _mm256_permute2f128_ps::<0x20>(vectors[i], vectors[i + 4]);
        let high = _mm256_permute2f128_ps::<0x31>(vectors[i], vectors[i + 4]);
        *sum = _mm256_add_ps(low, high);
    }
    let mut by_2 = [by_4[0]; 2];
    for (i, sum) in by_2.iter_mut().enumerate() {
        let (even, odd) = (by_4[2 * i], by_4[2 * i + 1]);
        *sum = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(even, odd), _mm256_shuffle_ps::<0xEE>(even, odd));
    }
    let [even, odd] = by_2;
    _mm256_add_ps(_mm256_shuffle_ps::<0x88>(even, odd), _mm256_shuffle_ps::<0xDD>(even, odd))
}
