//! The contract with AVX2, FMA and F16C intrinsics.
//!
//! Every function below has these features as `#[target_feature]`s, so each calls the others without further proof; the
//! three safe entries of this file are where the proof is.

mod exp;
mod partial;
mod reduce;
mod rows;
mod vector;

use std::sync::LazyLock;

use crate::block::{Block, HeadPartial};
pub(crate) use rows::Lanes;

/// Whether this processor has what the path needs.
pub(crate) fn available() -> bool {
    static AVAILABLE: LazyLock<bool> = LazyLock::new(|| {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
    });
    *AVAILABLE
}

/// Runs the partial kernel's block.
pub(crate) fn partial<T: Lanes>(block: &Block<'_, T>, out: &mut [HeadPartial<'_>]) {
    assert!(available(), "the simd path is chosen only where it is available");
    // SAFETY: AVX2, FMA and F16C were found on this processor.
    unsafe { partial::block(block, out) }
}

/// Runs the reduce kernel for one query head.
pub(crate) fn reduce(m: &[f32], s: &[f32], acc: &[f32], out: &mut [f32]) {
    assert!(available(), "the simd path is chosen only where it is available");
    // SAFETY: AVX2, FMA and F16C were found on this processor.
    unsafe { reduce::head(m, s, acc, out) }
}

/// The exponential of each `x`.
pub(crate) fn exp_all(x: &[f32]) -> Vec<f32> {
    assert!(available(), "the simd path is chosen only where it is available");
    // SAFETY: AVX2, FMA and F16C were found on this processor.
    unsafe { exp::exp_all(x) }
}
