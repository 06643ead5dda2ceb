//! The partial kernel's block: contract section 5.
//!
//! A warp's rows are taken one step after the other, as its running state fits the first-level cache; its next step is
//! prefetched meanwhile, as it lies `warps · rows` rows on.

use std::arch::x86_64::{
    __m256, _CMP_LT_OQ, _MM_HINT_T0, _mm_prefetch, _mm256_add_ps, _mm256_blendv_ps, _mm256_cmp_ps, _mm256_div_ps,
    _mm256_fmadd_ps, _mm256_max_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_setr_ps, _mm256_setzero_ps, _mm256_sub_ps,
};

use splitk_plan::MAX_GROUP_SIZE;

use super::exp::{exp, exp_one};
use super::rows::{ELEMENTS, HEAD_DIM, LANE_BLOCKS, Lanes};
use super::vector::{WIDTH, fma_one, load, store, sum_each, to_array};
use crate::block::{Block, HeadPartial, Rows};
use crate::constants::{LOWEST, MAX_ROWS};

/// Most query heads a KV head.
const MAX_GROUP: usize = MAX_GROUP_SIZE as usize;
/// Bytes of a cache line.
const LINE: usize = 64;

/// A query by lane: `[lane_block][element]`, eight lanes a vector.
type Query = [[__m256; ELEMENTS]; LANE_BLOCKS];

/// What a warp keeps for one query head.
#[derive(Clone)]
struct HeadState {
    m: f32,
    /// Sum of the weights, a row slot; slots past the tile's rows are never used.
    l: [f32; MAX_ROWS],
    acc: [[f32; WIDTH]; HEAD_DIM / WIDTH],
}

impl HeadState {
    fn new() -> Self {
        Self { m: LOWEST, l: [0.0; MAX_ROWS], acc: [[0.0; WIDTH]; HEAD_DIM / WIDTH] }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn block<T: Lanes>(block: &Block<'_, T>, out: &mut [HeadPartial<'_>]) {
    let mut queries = Vec::with_capacity(block.group_size);
    for member in 0..block.group_size {
        queries.push(query(block, member));
    }
    let mut warps = vec![vec![HeadState::new(); block.group_size]; block.tile.warps as usize];
    for (warp, heads) in warps.iter_mut().enumerate() {
        // The rows of a step are unrolled.
        match block.tile.rows {
            1 => walk::<T, 1>(block, warp, &queries, heads),
            2 => walk::<T, 2>(block, warp, &queries, heads),
            4 => walk::<T, 4>(block, warp, &queries, heads),
            8 => walk::<T, 8>(block, warp, &queries, heads),
            rows => unreachable!("the plan's check lets no tile of {rows} rows pass"),
        }
    }
    for (member, out) in out.iter_mut().enumerate() {
        merge(&warps, member, block.tile.rows as usize, out);
    }
}

/// A query in the order of the lane map.
#[target_feature(enable = "avx2,fma,f16c")]
fn query<T: Lanes>(block: &Block<'_, T>, member: usize) -> Query {
    let row = block.query(block.kv_head * block.group_size + member);
    let mut query = [[_mm256_setzero_ps(); ELEMENTS]; LANE_BLOCKS];
    for (lane_block, elements) in query.iter_mut().enumerate() {
        for (i, vector) in elements.iter_mut().enumerate() {
            let lane = |lane: usize| block.tile.dim((WIDTH * lane_block + lane) as u32, i as u32) as usize;
            *vector = load(&std::array::from_fn(|l| row[lane(l)]));
        }
    }
    query
}

/// All steps of one warp.
#[target_feature(enable = "avx2,fma,f16c")]
fn walk<T: Lanes, const R: usize>(block: &Block<'_, T>, warp: usize, queries: &[Query], heads: &mut [HeadState]) {
    let sqrt_head_dim = _mm256_set1_ps((HEAD_DIM as f32).sqrt());
    let mut weights = [[_mm256_setzero_ps(); R]; MAX_GROUP];
    for base in block.steps(warp, &block.keys) {
        let live = R.min(block.keys.end - base);
        let partials = lane_sums::<T, R>(block, base, live, queries);
        for (member, head) in heads.iter_mut().enumerate() {
            let scores = mask(_mm256_div_ps(sum_each(&partials[member]), sqrt_head_dim), live);
            let p = to_array(weigh(head, scores));
            for (weight, p) in weights[member].iter_mut().zip(p) {
                *weight = _mm256_set1_ps(p);
            }
        }
        add_values::<T, R>(&step_rows(&block.v, base, live), &weights, heads);
    }
}

/// The rows of a step, zeros in place of those that are masked.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn step_rows<'a, T: Lanes, const R: usize>(rows: &Rows<'a, T>, base: usize, live: usize) -> [&'a [T; HEAD_DIM]; R] {
    let mut step = [T::ZEROS; R];
    for (row, slot) in step.iter_mut().take(live).enumerate() {
        *slot = rows.row(base + row).try_into().expect("a row has the head dimension's elements");
    }
    step
}

/// Asks for row `key` of K and of V; past the split's end nothing is asked for.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn prefetch<T: Lanes>(block: &Block<'_, T>, key: usize) {
    if key >= block.keys.end {
        return;
    }
    for rows in [&block.k, &block.v] {
        for line in rows.row(key).chunks(LINE / size_of::<T>()) {
            // SAFETY: a prefetch only hints, whatever the address.
            #[allow(unused_unsafe, reason = "later compilers than the oldest supported one call it safe")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
            }
        }
    }
}

/// For each query head and row, the lane partials after the levels 16 and 8 of the tree: eight lanes are left.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn lane_sums<T: Lanes, const R: usize>(
    block: &Block<'_, T>,
    base: usize,
    live: usize,
    queries: &[Query],
) -> [[__m256; MAX_ROWS]; MAX_GROUP] {
    let mut sums = [[_mm256_setzero_ps(); MAX_ROWS]; MAX_GROUP];
    let next_base = base + block.tile.warps as usize * R;
    for (row, k) in step_rows::<T, R>(&block.k, base, live).into_iter().enumerate() {
        // A row at a time: the processor can wait for few lines at once, and there is work between.
        prefetch(block, next_base + row);
        let mut partials = [[_mm256_setzero_ps(); LANE_BLOCKS]; MAX_GROUP];
        for lane_block in 0..LANE_BLOCKS {
            // SAFETY: this function has the features that `lanes` asks for.
            let k = unsafe { T::lanes(k, lane_block) };
            for (query, partials) in queries.iter().zip(&mut partials) {
                let query = &query[lane_block];
                let mut x = _mm256_mul_ps(query[0], k[0]);
                for i in 1..ELEMENTS {
                    x = _mm256_fmadd_ps(query[i], k[i], x);
                }
                partials[lane_block] = x;
            }
        }
        for (sums, partials) in sums.iter_mut().zip(&partials).take(queries.len()) {
            let [a, b, c, d] = *partials;
            sums[row] = _mm256_add_ps(_mm256_add_ps(a, c), _mm256_add_ps(b, d));
        }
    }
    sums
}

/// Scores with -inf in the rows from `live` on.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn mask(scores: __m256, live: usize) -> __m256 {
    let row = _mm256_setr_ps(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0);
    let is_live = _mm256_cmp_ps::<_CMP_LT_OQ>(row, _mm256_set1_ps(live as f32));
    _mm256_blendv_ps(_mm256_set1_ps(f32::NEG_INFINITY), scores, is_live)
}

/// Moves the maximum, adds the weights to `l`, and returns them.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn weigh(head: &mut HeadState, scores: __m256) -> __m256 {
    // The instruction returns its second operand when one is NaN, so a NaN counts as the maximum so far.
    let candidates = to_array(_mm256_max_ps(scores, _mm256_set1_ps(head.m)));
    let largest = candidates[1..].iter().fold(candidates[0], |largest, &m| if m > largest { m } else { largest });
    if largest > head.m {
        let factor = _mm256_set1_ps(exp_one(head.m - largest));
        let l = _mm256_mul_ps(load(&head.l), factor);
        store(&mut head.l, l);
        for acc in &mut head.acc {
            let scaled = _mm256_mul_ps(load(acc), factor);
            store(acc, scaled);
        }
        head.m = largest;
    }
    let weights = exp(_mm256_sub_ps(scores, _mm256_set1_ps(head.m)));
    let l = _mm256_add_ps(load(&head.l), weights);
    store(&mut head.l, l);
    weights
}

/// `acc = fma(p, v, acc)` for the rows of a step in order.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn add_values<T: Lanes, const R: usize>(
    v: &[&[T; HEAD_DIM]; R],
    weights: &[[__m256; R]; MAX_GROUP],
    heads: &mut [HeadState],
) {
    let v = v.map(|row| row.as_chunks::<WIDTH>().0);
    for place in 0..HEAD_DIM / WIDTH {
        let mut rows = [_mm256_setzero_ps(); R];
        for (row, v) in rows.iter_mut().zip(&v) {
            // SAFETY: this function has the features that `widen` asks for.
            *row = unsafe { T::widen(&v[place]) };
        }
        for (head, weights) in heads.iter_mut().zip(weights) {
            let mut acc = load(&head.acc[place]);
            for (weight, row) in weights.iter().zip(&rows) {
                acc = _mm256_fmadd_ps(*weight, *row, acc);
            }
            store(&mut head.acc[place], acc);
        }
    }
}

/// Merges what the warps hold for one query head, in the order of the warps.
#[target_feature(enable = "avx2,fma,f16c")]
fn merge(warps: &[Vec<HeadState>], member: usize, rows: usize, out: &mut HeadPartial<'_>) {
    let largest = warps.iter().map(|heads| heads[member].m).fold(LOWEST, f32::max);
    let mut sum = 0.0_f32;
    let mut total = [_mm256_setzero_ps(); HEAD_DIM / WIDTH];
    for heads in warps {
        let head = &heads[member];
        let factor = exp_one(head.m - largest);
        sum = fma_one(row_slot_sum(head.l, rows), factor, sum);
        for (total, acc) in total.iter_mut().zip(&head.acc) {
            *total = _mm256_fmadd_ps(load(acc), _mm256_set1_ps(factor), *total);
        }
    }
    *out.m = largest;
    *out.s = sum;
    for (out, total) in out.acc.as_chunks_mut::<WIDTH>().0.iter_mut().zip(total) {
        store(out, total);
    }
}

/// The xor tree over the row slots; folding the upper half onto the lower gives slot 0 the same bits.
fn row_slot_sum(mut l: [f32; MAX_ROWS], rows: usize) -> f32 {
    let mut level = rows / 2;
    while level > 0 {
        for slot in 0..level {
            l[slot] += l[slot + level];
        }
        level /= 2;
    }
    l[0]
}
