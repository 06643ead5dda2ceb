//! The partial kernel's block: contract section 5.

use std::ops::Range;

use super::Widen;
use super::exp::exp;
use super::rules::{Rules, xor_tree};
use crate::block::{Block, HeadPartial, Rows};
use crate::constants::{LANES, LOWEST, MAX_ROWS};

/// What a warp keeps for one query head.
struct HeadState {
    m: f32,
    /// Sum of the weights, a row slot.
    l: [f32; MAX_ROWS],
    acc: Vec<f32>,
}

/// The rows that a warp takes in one step.
struct Step {
    /// By lane, as [`by_lane`] says.
    k: Vec<Vec<f32>>,
    /// All rows of the step, while `k` has those only that are not masked.
    v: Vec<Vec<f32>>,
}

pub(super) fn block<T: Widen, R: Rules>(block: &Block<'_, T>, out: &mut [HeadPartial<'_>]) {
    let keys = R::live_keys(block.keys.clone(), block.kv_len);
    let query = |member| {
        let head = R::query_head(block.kv_head, member, block.group_size, block.num_kv_heads);
        by_lane(block, block.query(head))
    };
    let queries: Vec<Vec<f32>> = (0..block.group_size).map(query).collect();
    let warps: Vec<Vec<HeadState>> =
        (0..block.tile.warps as usize).map(|warp| walk::<T, R>(block, warp, &keys, &queries)).collect();
    for (member, out) in out.iter_mut().enumerate() {
        let heads: Vec<&HeadState> = warps.iter().map(|heads| &heads[member]).collect();
        merge::<R>(&heads, block.tile.rows as usize, out);
    }
}

/// All steps of one warp.
fn walk<T: Widen, R: Rules>(
    block: &Block<'_, T>,
    warp: usize,
    keys: &Range<usize>,
    queries: &[Vec<f32>],
) -> Vec<HeadState> {
    let start = || HeadState { m: LOWEST, l: [0.0; MAX_ROWS], acc: vec![0.0; block.k.head_dim] };
    let mut heads: Vec<HeadState> = queries.iter().map(|_| start()).collect();
    for base in block.steps(warp, keys) {
        let step = load::<T, R>(block, base, keys);
        for (head, query) in heads.iter_mut().zip(queries) {
            head_step::<R>(head, query, &step);
        }
    }
    heads
}

/// The rows of a step, widened. What K holds in a masked row does not matter, as its score is replaced.
fn load<T: Widen, R: Rules>(block: &Block<'_, T>, base: usize, keys: &Range<usize>) -> Step {
    let rows = base..base + block.tile.rows as usize;
    let live = keys.end.min(rows.end) - base;
    let widened = |rows: &Rows<'_, T>, key| rows.row(key).iter().map(|x: &T| x.widen()).collect::<Vec<f32>>();
    let value = |key: usize| {
        let in_memory = !R::masks_values() && key < block.v.count;
        if key < keys.end || in_memory { widened(&block.v, key) } else { vec![0.0; block.v.head_dim] }
    };
    Step {
        k: rows.clone().take(live).map(|key| by_lane(block, &widened(&block.k, key))).collect(),
        v: rows.map(value).collect(),
    }
}

/// A row in the order of the lane map: element 0 of the 32 lanes, then element 1 of each, and so on.
fn by_lane<T>(block: &Block<'_, T>, row: &[f32]) -> Vec<f32> {
    let elements = row.len() / LANES;
    let places = (0..elements).flat_map(|i| (0..LANES).map(move |lane| (lane, i)));
    places.map(|(lane, i)| row[block.tile.dim(lane as u32, i as u32) as usize]).collect()
}

/// One step of one query head: scores, maximum, weights, values.
fn head_step<R: Rules>(head: &mut HeadState, query: &[f32], step: &Step) {
    let rows = step.v.len();
    let mut scores = [f32::NEG_INFINITY; MAX_ROWS];
    for (score, k) in scores.iter_mut().zip(&step.k) {
        *score = R::lane_sum(lane_partials::<R>(query, k)) / (k.len() as f32).sqrt();
    }

    // A comparison with NaN is false, so this ignores NaN and tells a maximum that moved from one that did not.
    let largest = scores[..rows].iter().fold(head.m, |largest, &score| if score > largest { score } else { largest });
    if largest > head.m {
        let factor = R::rescale_factor(head.m, largest);
        head.l[..rows].iter_mut().for_each(|l| *l *= factor);
        head.acc.iter_mut().for_each(|acc| *acc *= factor);
        head.m = largest;
    }

    for ((score, l), v) in scores.iter().zip(&mut head.l).zip(&step.v) {
        let weight = exp(score - head.m);
        *l += weight;
        // Scores and maxima of later rows do not depend on acc, so each row's values may follow its weight at once.
        for (acc, &v) in head.acc.iter_mut().zip(v) {
            *acc = R::fma(weight, v, *acc);
        }
    }
}

/// What each lane sums of a row: one product, then a chain over its other elements. Both rows are by lane.
fn lane_partials<R: Rules>(query: &[f32], k: &[f32]) -> [f32; LANES] {
    let (query, k) = (query.as_chunks::<LANES>().0, k.as_chunks::<LANES>().0);
    let mut lanes: [f32; LANES] = std::array::from_fn(|lane| query[0][lane] * k[0][lane]);
    for (query, k) in query.iter().zip(k).skip(1) {
        for (lane, x) in lanes.iter_mut().enumerate() {
            *x = R::fma(query[lane], k[lane], *x);
        }
    }
    lanes
}

/// Merges what the warps of a block hold for one query head.
fn merge<R: Rules>(warps: &[&HeadState], rows: usize, out: &mut HeadPartial<'_>) {
    let maxima: Vec<f32> = warps.iter().map(|warp| warp.m).collect();
    let largest = maxima.iter().fold(LOWEST, |largest, &m| if m > largest { m } else { largest });
    let factors = R::warp_factors(&maxima, largest);
    let levels = || std::iter::successors(Some(rows / 2), |level| Some(level / 2)).take_while(|&level| level > 0);

    *out.m = largest;
    *out.s = 0.0;
    out.acc.fill(0.0);
    for place in 0..warps.len() {
        let warp = R::warp_in_place(place, warps.len());
        let factor = factors[warp];
        *out.s = R::fma(xor_tree(warps[warp].l, levels()), factor, *out.s);
        for (total, &acc) in out.acc.iter_mut().zip(&warps[warp].acc) {
            *total = R::fma(acc, factor, *total);
        }
    }
}
