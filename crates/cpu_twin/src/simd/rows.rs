//! Rows of K and V: widened eight dimensions at a time, or turned so that a vector holds one element of eight lanes.

use std::arch::x86_64::{
    __m256, _mm_loadu_ps, _mm_loadu_si128, _mm256_castps128_ps256, _mm256_cvtph_ps, _mm256_insertf128_ps,
    _mm256_permute2f128_ps, _mm256_setzero_ps,
};

use half::f16;

use super::vector::{WIDTH, load, transpose_halves};

/// Elements of a row; the lane maps below are those of this head dimension.
pub(crate) const HEAD_DIM: usize = 256;
/// Elements of a row that one lane holds.
pub(super) const ELEMENTS: usize = HEAD_DIM / 32;
/// Vectors that the 32 lanes fill.
pub(super) const LANE_BLOCKS: usize = 32 / WIDTH;

/// An element type of K and V.
pub(crate) trait Lanes: Copy + Send + Sync + 'static {
    /// What stands for a row that is masked.
    const ZEROS: &'static [Self; HEAD_DIM];

    /// Eight elements as f32.
    ///
    /// # Safety
    /// The processor has AVX2, FMA and F16C.
    unsafe fn widen(from: &[Self; WIDTH]) -> __m256;

    /// Vector `i` holds element `i` of the lanes `8 · lane_block … 8 · lane_block + 7`.
    ///
    /// # Safety
    /// The processor has AVX2, FMA and F16C.
    unsafe fn lanes(row: &[Self; HEAD_DIM], lane_block: usize) -> [__m256; ELEMENTS];
}

impl Lanes for f32 {
    const ZEROS: &'static [Self; HEAD_DIM] = &[0.0; HEAD_DIM];

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn widen(from: &[Self; WIDTH]) -> __m256 {
        load(from)
    }

    /// Lane `l` holds the dimensions `4l … 4l+3` and `128+4l … 128+4l+3`.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn lanes(row: &[Self; HEAD_DIM], lane_block: usize) -> [__m256; ELEMENTS] {
        let quads = row.as_chunks::<4>().0;
        let mut turned = [_mm256_setzero_ps(); ELEMENTS];
        for half in 0..2 {
            let first = 32 * half + WIDTH * lane_block;
            let mut pairs = [_mm256_setzero_ps(); 4];
            for (lane, pair) in pairs.iter_mut().enumerate() {
                *pair = two_quads(&quads[first + lane], &quads[first + lane + 4]);
            }
            turned[4 * half..][..4].copy_from_slice(&transpose_halves(pairs));
        }
        turned
    }
}

/// One vector of two times four elements.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn two_quads(low: &[f32; 4], high: &[f32; 4]) -> __m256 {
    // SAFETY: each array is 16 readable bytes, and the loads ask for no alignment.
    let (low, high) = unsafe { (_mm_loadu_ps(low.as_ptr()), _mm_loadu_ps(high.as_ptr())) };
    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
}

impl Lanes for f16 {
    const ZEROS: &'static [Self; HEAD_DIM] = &[f16::ZERO; HEAD_DIM];

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn widen(from: &[Self; WIDTH]) -> __m256 {
        // SAFETY: the array is 16 readable bytes (`f16` is a transparent `u16`), and the load asks for no alignment.
        _mm256_cvtph_ps(unsafe { _mm_loadu_si128(from.as_ptr().cast()) })
    }

    /// Lane `l` holds the dimensions `8l … 8l+7`.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn lanes(row: &[Self; HEAD_DIM], lane_block: usize) -> [__m256; ELEMENTS] {
        let octets = &row.as_chunks::<WIDTH>().0[WIDTH * lane_block..][..WIDTH];
        let mut by_lane = [_mm256_setzero_ps(); WIDTH];
        for (lane, octet) in by_lane.iter_mut().zip(octets) {
            // SAFETY: this function has the features that `widen` asks for.
            *lane = unsafe { Self::widen(octet) };
        }
        let [a, b, c, d, e, f, g, h] = by_lane;
        // Elements 0 … 3 of four lanes in the low halves, elements 4 … 7 of the same lanes in the high ones.
        let (left, right) = (transpose_halves([a, b, c, d]), transpose_halves([e, f, g, h]));
        let mut turned = [_mm256_setzero_ps(); ELEMENTS];
        for i in 0..4 {
            turned[i] = _mm256_permute2f128_ps::<0x20>(left[i], right[i]);
            turned[i + 4] = _mm256_permute2f128_ps::<0x31>(left[i], right[i]);
        }
        turned
    }
}
