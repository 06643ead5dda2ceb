//! The steps of the contract that a planted fault may replace. Each default is what the contract says.

use std::ops::Range;

use super::exp::exp;
use super::fma::fma;
use crate::constants::LANES;

/// Work that is generic over the rules it runs by.
pub(crate) trait WithRules {
    fn run<R: Rules>(self);
}

/// The rules of the contract. Chosen at compile time, so that the contract itself pays nothing for the faults.
pub(crate) trait Rules {
    /// Every fused multiply-add of scores, values and merges.
    #[inline]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        fma(a, b, c)
    }

    /// The keys that are live in a split; `kv_len` is the call's.
    fn live_keys(keys: Range<usize>, _kv_len: usize) -> Range<usize> {
        keys
    }

    /// The query head, over all groups, whose query serves member `member` of the group of `kv_head`.
    fn query_head(kv_head: usize, member: usize, group_size: usize, _num_kv_heads: usize) -> usize {
        kv_head * group_size + member
    }

    /// The sum of a row's 32 lane partials.
    #[inline]
    fn lane_sum(lanes: [f32; LANES]) -> f32 {
        xor_tree(lanes, [16, 8, 4, 2, 1])
    }

    /// What `l` and `acc` are multiplied by when the maximum moves from `old` to `new`.
    fn rescale_factor(old: f32, new: f32) -> f32 {
        exp(old - new)
    }

    /// Whether a masked row of V is +0; if not, it is what the array holds there (+0 past its end).
    fn masks_values() -> bool {
        true
    }

    /// What each warp of a block is weighted by when the warps merge, given their maxima.
    fn warp_factors(maxima: &[f32], largest: f32) -> Vec<f32> {
        maxima.iter().map(|m| exp(m - largest)).collect()
    }

    /// What each split of a head is weighted by when the splits merge, given their maxima.
    fn split_factors(maxima: &[f32], largest: f32) -> Vec<f32> {
        maxima.iter().map(|m| exp(m - largest)).collect()
    }

    /// The warp that is merged in place `place` of `count`.
    fn warp_in_place(place: usize, _count: usize) -> usize {
        place
    }

    /// The split that is merged in place `place` of `count`.
    fn split_in_place(place: usize, _count: usize) -> usize {
        place
    }
}

/// The contract.
#[derive(Debug)]
pub(crate) struct Contract;

impl Rules for Contract {}

/// `x(l) = x(l) + x(l xor level)` for each of `levels` in turn; every lane ends with the same bits.
#[inline]
pub(crate) fn xor_tree<const N: usize>(mut lanes: [f32; N], levels: impl IntoIterator<Item = usize>) -> f32 {
    for level in levels {
        let before = lanes;
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum = before[lane] + before[lane ^ level];
        }
    }
    lanes[0]
}
