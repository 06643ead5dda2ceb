//! The reduce kernel for one query head: contract section 6, eight dimensions at a time.

use std::arch::x86_64::{_mm256_add_ps, _mm256_div_ps, _mm256_fmadd_ps, _mm256_set1_ps, _mm256_setzero_ps};

use super::exp::exp_all;
use super::vector::{WIDTH, fma_one, load, store};
use crate::constants::{CLASSES, LOWEST};

/// Merges the splits of a head: `m` and `s` are `[n_splits]`, `acc` is `[n_splits, out.len()]`, and `out.len()` is a
/// multiple of 8.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn head(m: &[f32], s: &[f32], acc: &[f32], out: &mut [f32]) {
    // `f32::max` returns the other operand when one is NaN, and LOWEST is none.
    let largest = m.iter().copied().fold(LOWEST, f32::max);
    let distances: Vec<f32> = m.iter().map(|m| m - largest).collect();
    let factors = exp_all(&distances);

    let sum = _mm256_set1_ps(sum_of_weights(s, &factors));
    let (vectors, _) = acc.as_chunks::<WIDTH>();
    let (out, _) = out.as_chunks_mut::<WIDTH>();
    let stride = out.len();
    for (place, out) in out.iter_mut().enumerate() {
        let mut classes = [_mm256_setzero_ps(); CLASSES];
        for (split, &factor) in factors.iter().enumerate() {
            let class = &mut classes[split % CLASSES];
            *class = _mm256_fmadd_ps(load(&vectors[split * stride + place]), _mm256_set1_ps(factor), *class);
        }
        let mut total = classes[0];
        for class in &classes[1..] {
            total = _mm256_add_ps(total, *class);
        }
        store(out, _mm256_div_ps(total, sum));
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn sum_of_weights(s: &[f32], factors: &[f32]) -> f32 {
    let mut classes = [0.0_f32; CLASSES];
    for (split, (s, factor)) in s.iter().zip(factors).enumerate() {
        classes[split % CLASSES] = fma_one(*s, *factor, classes[split % CLASSES]);
    }
    classes[1..].iter().fold(classes[0], |sum, class| sum + class)
}
