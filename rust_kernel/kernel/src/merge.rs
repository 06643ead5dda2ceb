//! The end of a partial kernel: the warps of a block merge in order (contract, section 5).

use cuda_device::{thread, vector::F32x4, warp};

use crate::arith::{LOWEST, exp, fma, max, sub};
use crate::butterfly::max_over_warp;
use crate::partial::Args;
use crate::shared::{Exchange, place_of_four};
use crate::unroll::unrolled;

/// A warp takes 128 dimensions of one head a turn, a lane four of them. What both turns need is read and weighted before
/// the first is summed, so that the warp waits for it once.
///
/// # Safety
/// All warps have published, with a barrier in between, and are whole; the scratch is laid out as section 2 says.
/// `warp` is the same in all lanes.
#[inline(always)]
pub unsafe fn merge<const G: usize, const D: usize, const W: usize, const PART: usize>(
    args: &Args,
    exchange: &Exchange<G, D, W, PART>,
    warp: u32,
    lane: u32,
) {
    const { assert!(D.is_multiple_of(128) && G * D / 128 <= 2 * W, "two turns are too few") };
    // SAFETY: this function's own contract.
    unsafe {
        if const { G * D / 128 > W } {
            let first = Turn::<G, D, W>::read::<PART, false>(exchange, warp, lane);
            let second = Turn::<G, D, W>::read::<PART, false>(exchange, warp + W as u32, lane);
            let (first_weights, second_weights) = (first.weigh(), second.weigh());
            first.write(args, &first_weights);
            if second.there() {
                second.write(args, &second_weights);
            }
        } else if const { G * D / 128 == W } || Turn::<G, D, W>::is_one(warp) {
            let turn = Turn::<G, D, W>::read::<PART, true>(exchange, warp, lane);
            turn.write(args, &turn.weigh());
        }
    }
}

/// A turn, one lane's share.
struct Turn<const G: usize, const D: usize, const W: usize> {
    /// Which 128 dimensions, counted through the heads of the group; there may be none.
    number: u32,
    lane: u32,
    /// In lane w: maximum and sum of warp w.
    m: f32,
    s: f32,
    /// Each warp's sums at the lane's four dimensions.
    acc: [[f32; 4]; W],
}

/// The greatest of the warps' maxima, and each warp's factor.
struct Weights<const W: usize> {
    top: f32,
    factors: [f32; W],
}

impl<const G: usize, const D: usize, const W: usize> Turn<G, D, W> {
    /// Turns of a head.
    const OF_HEAD: u32 = D as u32 / 128;

    /// Whether there is a turn of this number.
    #[inline(always)]
    fn is_one(number: u32) -> bool {
        number < G as u32 * Self::OF_HEAD
    }

    /// Whether there is this turn; the same in all lanes.
    #[inline(always)]
    fn there(&self) -> bool {
        Self::is_one(self.number)
    }

    /// The head of the turn, in the group.
    #[inline(always)]
    fn head(&self) -> u32 {
        self.number / Self::OF_HEAD
    }

    /// The lane's first dimension.
    #[inline(always)]
    fn dim(&self) -> usize {
        (self.number % Self::OF_HEAD * 128 + self.lane * 4) as usize
    }

    /// Reads what the warps have left for the turn, if it is there. Where that is `CERTAIN` no registers are cleared for a
    /// turn that is not.
    ///
    /// # Safety
    /// As [`merge`]; the turn is there, if `CERTAIN`.
    #[inline(always)]
    unsafe fn read<const PART: usize, const CERTAIN: bool>(
        exchange: &Exchange<G, D, W, PART>,
        number: u32,
        lane: u32,
    ) -> Self {
        let mut turn = Self { number, lane, m: LOWEST, s: 0.0, acc: [[0.0; 4]; W] };
        // A branch, not predicates: ptxas does not put a read off past it. The shared memory takes longer for all of them
        // than the factors take to compute.
        if CERTAIN || turn.there() {
            let head = turn.head() as usize;
            // SAFETY: a head of the group and dimensions below D, published by each warp; the four floats are aligned as
            // `place_of_four` is.
            unsafe {
                if lane < W as u32 {
                    let own = lane as usize;
                    turn.m = exchange.m(own).add(head * W).read();
                    turn.s = exchange.s(own).add(head * W).read();
                }
                unrolled!(w in 0..W, {
                    turn.acc[w] = read_four(exchange.acc(w).add(head * D + place_of_four(turn.dim())));
                });
            }
        }
        turn
    }

    /// `M = max over w of m_w`, and the factors `E(m_w - M)`.
    #[inline(always)]
    fn weigh(&self) -> Weights<W> {
        let top = max_over_warp(max(LOWEST, self.m));
        let own = exp(sub(self.m, top));
        let mut factors = [0.0; W];
        unrolled!(w in 0..W, {
            factors[w] = warp::shuffle_f32(own, w as u32);
        });
        Weights { top, factors }
    }

    /// Sums and writes: `S = fma(s_w, f_w, S)`, `A[d] = fma(acc_w[d], f_w, A[d])`, from +0, for w = 0 ... W-1.
    ///
    /// # Safety
    /// As [`merge`]; there is this turn, and `weights` are its.
    #[inline(always)]
    unsafe fn write(&self, args: &Args, weights: &Weights<W>) {
        let factors = weights.factors;
        let mut a = [0.0; 4];
        unrolled!(w in 0..W, {
            unrolled!(i in 0..4, {
                a[i] = fma(self.acc[w][i], factors[w], a[i]);
            });
        });
        let head = thread::blockIdx_x() * G as u32 + self.head();
        let place = (head * args.n_splits + thread::blockIdx_y()) as usize;
        // SAFETY: `place` is below num_q_heads * n_splits, and every (head, split, dimension) has one writer in the
        // grid; part_acc is 16-byte aligned and the dimension a multiple of 4.
        unsafe { args.part_acc.add(place * D + self.dim()).cast::<F32x4>().write(F32x4::new(a)) };

        // One turn of a head writes its maximum and sum.
        if self.number.is_multiple_of(Self::OF_HEAD) {
            let mut s = 0.0;
            unrolled!(w in 0..W, {
                s = fma(warp::shuffle_f32(self.s, w as u32), factors[w], s);
            });
            if self.lane == 0 {
                // SAFETY: as above.
                unsafe {
                    args.part_m.add(place).write(weights.top);
                    args.part_s.add(place).write(s);
                }
            }
        }
    }
}

/// Four floats in one access: read whole as an integer and taken apart in registers. (Reading the lanes of an `F32x4`
/// becomes four scalar loads, because the place of each is known to be aligned only as an f32.)
///
/// # Safety
/// `address` is a multiple of 16 and the four floats there are readable.
#[inline(always)]
unsafe fn read_four(address: *const f32) -> [f32; 4] {
    // SAFETY: this function's own contract; any bits are a u128.
    let bits = unsafe { address.cast::<u128>().read() };
    [
        f32::from_bits(bits as u32),
        f32::from_bits((bits >> 32) as u32),
        f32::from_bits((bits >> 64) as u32),
        f32::from_bits((bits >> 96) as u32),
    ]
}
