//! In place of `simd` on architectures that it is not written for.

use crate::block::{Block, HeadPartial};

/// No more is asked of an element than the portable path asks.
pub(crate) trait Lanes {}
impl<T> Lanes for T {}

pub(crate) fn available() -> bool {
    false
}

pub(crate) fn partial<T>(_: &Block<'_, T>, _: &mut [HeadPartial<'_>]) {
    unreachable!("the simd path is chosen only where it is available")
}

pub(crate) fn reduce(_: &[f32], _: &[f32], _: &[f32], _: &mut [f32]) {
    unreachable!("the simd path is chosen only where it is available")
}

pub(crate) fn exp_all(_: &[f32]) -> Vec<f32> {
    unreachable!("the simd path is chosen only where it is available")
}
