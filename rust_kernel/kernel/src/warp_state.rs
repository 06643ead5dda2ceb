//! One warp of the partial kernel: what it keeps, and what it does with `R` rows of K and V at a time (section 5).

use core::marker::PhantomData;

use cuda_device::{vector::F32x4, warp};

use crate::arith::{LOWEST, add, div, exp, fma, max, mul, sub};
use crate::butterfly::{exchange, finish, home, max_over_rows, sum_over_rows, trade};
use crate::memory::load_16;
use crate::rows::{Rows, own_row};
use crate::shared::place_of_four;
use crate::storage::Storage;
use crate::unroll::unrolled;

/// A warp's state, one lane's share of it. All of it lives in registers.
///
/// `m` and `l` belong to the scores that the lane carries at the end of the butterfly, slot by slot; every lane of a
/// head has the same `m`. `q` and `acc` are the lane's elements `dim(lane, 0..E)` of each head (section 3).
///
/// `E`, `WORDS`, `HALF` and `SLOTS` follow from the others; see [`crate::partial::partial`].
pub struct Warp<
    S: Storage,
    const G: usize,
    const D: usize,
    const R: usize,
    const E: usize,
    const WORDS: usize,
    const HALF: usize,
    const SLOTS: usize,
> {
    lane: u32,
    q: [[f32; E]; G],
    m: [f32; SLOTS],
    l: [f32; SLOTS],
    acc: [[f32; E]; G],
    storage: PhantomData<S>,
}

impl<
    S: Storage,
    const G: usize,
    const D: usize,
    const R: usize,
    const E: usize,
    const WORDS: usize,
    const HALF: usize,
    const SLOTS: usize,
> Warp<S, G, D, R, E, WORDS, HALF, SLOTS>
{
    /// Section 3: `vec`, the consecutive elements that a lane loads at once.
    const VEC: usize = if E * S::BYTES < 16 { E } else { 16 / S::BYTES };

    /// Bytes of such a vector.
    pub const VECTOR_BYTES: usize = Self::VEC * S::BYTES;

    /// Section 3: the dimension of element `i` of this lane.
    #[inline(always)]
    fn dim(&self, i: usize) -> usize {
        i / Self::VEC * 32 * Self::VEC + self.lane as usize * Self::VEC + i % Self::VEC
    }

    /// A warp that has seen no row, with the group's query heads loaded.
    ///
    /// # Safety
    /// `q` is the group's first query head, and `G` heads follow each other `stride` elements apart (section 2).
    #[inline(always)]
    pub unsafe fn new(q: *const f32, stride: usize, lane: u32) -> Self {
        let (m, l, acc) = ([LOWEST; SLOTS], [0.0; SLOTS], [[0.0; E]; G]);
        let mut warp = Self { lane, q: [[0.0; E]; G], m, l, acc, storage: PhantomData };
        unrolled!(g in 0..G, {
            unrolled!(c in 0..E / 4, {
                // SAFETY: dim(4c) + 3 < D, a multiple of 4 elements from an aligned row: readable, 16-byte aligned.
                let words = unsafe { load_16(q.add(g * stride + warp.dim(4 * c)).cast()) };
                unrolled!(i in 0..4, {
                    warp.q[g][4 * c + i] = f32::from_bits(words[i]);
                });
            });
        });
        warp
    }

    /// One warp step over `R` rows of K and V; rows `left` and on are masked.
    ///
    /// # Safety
    /// `left >= 1`; the rows may be read now; all lanes of the warp are here.
    #[inline(always)]
    pub unsafe fn step<Source: Rows<R, WORDS>>(&mut self, rows: &Source, left: u32) {
        // SAFETY: this function's own contract.
        let score = self.scores(&unsafe { rows.k() }, left, Source::ORDERED);
        self.raise_maximum(&score);
        let p = self.weights(&score);
        // SAFETY: likewise.
        self.accumulate(&p, &unsafe { rows.v() });
    }

    /// Section 5.1: the scores that this lane carries, of rows in the lane's own order if `ordered`.
    #[inline(always)]
    fn scores(&self, k_rows: &[[u32; WORDS]; R], left: u32, ordered: bool) -> [f32; SLOTS] {
        // The butterfly's first level follows at once on the two rows that it pairs: half the sums are never alive.
        let mut sums = [0.0; HALF];
        unrolled!(r in 0..R / 2, {
            let low = self.dots(&k_rows[r]);
            let high = self.dots(&k_rows[r + R / 2]);
            unrolled!(g in 0..G, {
                sums[r * G + g] =
                    if ordered { trade(low[g], high[g], 16) } else { exchange(low[g], high[g], 16, self.lane) };
            });
        });
        // Rows are split at R.ilog2() levels, of which one is done.
        finish(&mut sums, self.lane, if ordered { const { R.ilog2() as usize - 1 } } else { 0 });

        // A masked row has the score -inf. The lane's scores are all of one row: rows are split first.
        let row = own_row::<R>(self.lane);
        let mut score = [0.0; SLOTS];
        unrolled!(s in 0..SLOTS, {
            score[s] = if row < left { over_sqrt_dim::<D>(sums[s]) } else { f32::NEG_INFINITY };
        });
        score
    }

    /// Section 5.1, one row with every head, this lane's share: a product, then a chain of fma in the order of `i`.
    #[inline(always)]
    fn dots(&self, words: &[u32; WORDS]) -> [f32; G] {
        let mut x = [0.0; G];
        unrolled!(i in 0..E, {
            let k = S::widen(words, i);
            unrolled!(g in 0..G, {
                x[g] = if i == 0 { mul(self.q[g][0], k) } else { fma(self.q[g][i], k, x[g]) };
            });
        });
        x
    }

    /// Section 5.2: where some score is above its head's maximum, move the maximum and rescale what was summed under
    /// the old one. After the first steps that is rare, so one vote of the warp skips it all. A head whose own maximum
    /// stays takes part with the factor E(0), which is exactly 1.
    #[inline(always)]
    fn raise_maximum(&mut self, score: &[f32; SLOTS]) {
        let mut above = false;
        unrolled!(s in 0..SLOTS, {
            above |= score[s] > self.m[s];
        });
        if warp::any(above) {
            let mut factor = [0.0; SLOTS];
            unrolled!(s in 0..SLOTS, {
                let raised = max_over_rows::<R>(max(self.m[s], score[s]));
                factor[s] = exp(sub(self.m[s], raised));
                self.l[s] = mul(self.l[s], factor[s]);
                self.m[s] = raised;
            });
            unrolled!(g in 0..G, {
                let (carrier, slot) = home(g, R * G);
                let f = warp::shuffle_f32(factor[slot], carrier);
                unrolled!(i in 0..E, {
                    self.acc[g][i] = mul(self.acc[g][i], f);
                });
            });
        }
    }

    /// Section 5.3: `p = E(score - m)`, `l = l + p`.
    #[inline(always)]
    fn weights(&mut self, score: &[f32; SLOTS]) -> [f32; SLOTS] {
        let mut p = [0.0; SLOTS];
        unrolled!(s in 0..SLOTS, {
            p[s] = exp(sub(score[s], self.m[s]));
            self.l[s] = add(self.l[s], p[s]);
        });
        p
    }

    /// Section 5.4: `acc = fma(p, v, acc)`, the rows in order. Each weight comes from the lane that carries it.
    #[inline(always)]
    fn accumulate(&mut self, p: &[f32; SLOTS], v_rows: &[[u32; WORDS]; R]) {
        unrolled!(r in 0..R, {
            let mut weight = [0.0; G];
            unrolled!(g in 0..G, {
                let (carrier, slot) = home(r * G + g, R * G);
                weight[g] = warp::shuffle_f32(p[slot], carrier);
            });
            unrolled!(i in 0..E, {
                let v = S::widen(&v_rows[r], i);
                unrolled!(g in 0..G, {
                    self.acc[g][i] = fma(weight[g], v, self.acc[g][i]);
                });
            });
        });
    }

    /// Leaves the warp's accumulators at `acc`, `[G, D]` as [`place_of_four`] says, and its maxima and sums at `m` and `s`,
    /// those of each head `stride` floats after the last one's.
    ///
    /// # Safety
    /// All three are this warp's part of the block's shared memory, `acc` 16-byte aligned; all lanes are here.
    #[inline(always)]
    pub unsafe fn publish(&self, acc: *mut f32, m: *mut f32, s: *mut f32, stride: usize) {
        unrolled!(g in 0..G, {
            unrolled!(c in 0..E / 4, {
                let a = &self.acc[g];
                let four = F32x4::new([a[4 * c], a[4 * c + 1], a[4 * c + 2], a[4 * c + 3]]);
                // SAFETY: the place of dim(4c) < D is a multiple of 4 floats from an aligned base, and no other lane's.
                unsafe { acc.add(g * D + place_of_four(self.dim(4 * c))).cast::<F32x4>().write(four) };
            });
        });

        let mut sum = [0.0; SLOTS];
        let mut head = [G as u32; SLOTS];
        unrolled!(i in 0..SLOTS, {
            sum[i] = sum_over_rows::<R>(self.l[i]);
        });
        unrolled!(g in 0..G, {
            let (carrier, slot) = home(g, R * G);
            head[slot] = if self.lane == carrier { g as u32 } else { head[slot] };
        });
        unrolled!(i in 0..SLOTS, {
            if head[i] < G as u32 {
                let place = head[i] as usize * stride;
                // SAFETY: the place of a head, which one lane of the warp carries.
                unsafe {
                    m.add(place).write(self.m[i]);
                    s.add(place).write(sum[i]);
                }
            }
        });
    }
}

/// Section 5.1: `x / sqrt(D)`. Where the root is a power of two the product with its inverse is the quotient.
#[inline(always)]
fn over_sqrt_dim<const D: usize>(x: f32) -> f32 {
    if const { root(D).to_bits().trailing_zeros() >= 23 } {
        mul(x, const { 1.0 / root(D) })
    } else {
        div(x, const { root(D) })
    }
}

/// `sqrt(head_dim)`, rounded to f32 once.
const fn root(head_dim: usize) -> f32 {
    match head_dim {
        128 => f32::from_bits(0x4135_04F3),
        256 => 16.0,
        _ => panic!("the root of this head dimension has to be stated"),
    }
}
