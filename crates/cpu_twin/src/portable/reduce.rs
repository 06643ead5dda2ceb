//! The reduce kernel for one query head: contract section 6.

use super::rules::Rules;
use crate::constants::{CLASSES, LOWEST};

/// Merges the splits of a head: `m` and `s` are `[n_splits]`, `acc` is `[n_splits, out.len()]`.
pub(super) fn head<R: Rules>(m: &[f32], s: &[f32], acc: &[f32], out: &mut [f32]) {
    let largest = m.iter().fold(LOWEST, |largest, &m| if m > largest { m } else { largest });
    let factors = R::split_factors(m, largest);
    let sum = by_class::<R>(&factors, |split| s[split]);
    let head_dim = out.len();
    for (dim, out) in out.iter_mut().enumerate() {
        *out = by_class::<R>(&factors, |split| acc[split * head_dim + dim]) / sum;
    }
}

/// Each class takes every eighth split, and the classes are added in order, the empty ones too.
fn by_class<R: Rules>(factors: &[f32], value: impl Fn(usize) -> f32) -> f32 {
    let mut classes = [0.0; CLASSES];
    for place in 0..factors.len() {
        let split = R::split_in_place(place, factors.len());
        let class = &mut classes[place % CLASSES];
        *class = R::fma(value(split), factors[split], *class);
    }
    let [first, rest @ ..] = classes;
    rest.into_iter().fold(first, |sum, class| sum + class)
}
