//! The partial kernel: one KV head and one split of the context a block (contract, section 5).
//!
//! A row of K or V is one or two 16-byte loads a lane. A warp step takes `R` rows; the next step's are on their way while
//! this one is computed (`ring.rs`), or all of a step's are requested before the first is used (`loaded.rs`). A step's `R * G` scores are reduced together and end one or two to a lane (`butterfly.rs`); that lane alone
//! takes their exponentials and keeps the sums that belong to them. The accumulators stay with the lane that holds their
//! dimension (`warp_state.rs`). At the end the warps meet in shared memory and are merged in order, here.

use cuda_device::{thread, vector::F32x4, warp};

use crate::arith::{LOWEST, exp, fma, max, sub};
use crate::cursor::Cursor;
use crate::loaded::Loaded;
use crate::ring::{Ring, ring_bytes, ring_fits};
use crate::storage::Storage;
use crate::unroll::unrolled;
use crate::warp_state::Warp;

/// What the launch passes, in the order of section 8; strides count elements.
pub struct Args {
    pub q: *const f32,
    pub k: *const u8,
    pub v: *const u8,
    pub part_m: *mut f32,
    pub part_s: *mut f32,
    pub part_acc: *mut f32,
    pub kv_len: u32,
    pub chunk: u32,
    pub n_splits: u32,
    pub q_stride_head: usize,
    pub k_stride_row: usize,
    pub k_stride_head: usize,
    pub v_stride_row: usize,
    pub v_stride_head: usize,
    /// The block's dynamic shared memory, [`shared_bytes`] of it, 16-byte aligned.
    pub shared: *mut f32,
}

/// Bytes of dynamic shared memory that a launch needs for `words` 32-bit words of K or V a lane and row: the ring, where
/// a block has room for it, and in its place later `acc`, then `m`, then `s` of every warp and head.
#[must_use]
pub const fn shared_bytes(warps: usize, rows: usize, heads: usize, head_dim: usize, words: usize) -> usize {
    let merge = 4 * warps * heads * (head_dim + 2);
    let ring = if ring_fits(warps, rows, words) { ring_bytes(warps, rows, words) } else { 0 };
    if ring > merge { ring } else { merge }
}

/// The whole kernel for `G` heads a KV head, head dimension `D`, `W` warps and `R` rows a step.
///
/// The rest follows from these and is spelled out only because array lengths must be: `E = D / 32` elements a lane,
/// `WORDS` 32-bit words of K or V a lane and row, `HALF = R / 2 * G` sums after the first level of the butterfly,
/// `SLOTS` scores a lane at its end.
///
/// # Safety
/// The launch is as section 8 says: grid `(num_kv_heads, n_splits)`, block `32 * W`, at least `shared_bytes(W, R, G, D, WORDS)` of
/// dynamic shared memory; arrays, strides and alignment as section 2; `n_splits` is `ceil(kv_len / chunk)` and both are
/// at least 1.
#[inline(always)]
pub unsafe fn partial<
    S: Storage,
    const G: usize,
    const D: usize,
    const W: usize,
    const R: usize,
    const E: usize,
    const WORDS: usize,
    const HALF: usize,
    const SLOTS: usize,
>(
    args: &Args,
) {
    let lane = warp::lane_id();
    // Lane 0's copy, so that ptxas knows this value, and all loops that depend on it, to be the same in the whole warp.
    let warp = warp::shuffle(thread::threadIdx_x() / 32, 0);
    let kv_head = thread::blockIdx_x() as usize;
    let split = thread::blockIdx_y();

    // The split is never empty, `split * chunk < kv_len`, so nothing here wraps.
    let first_key = split * args.chunk;
    let keys = args.chunk.min(args.kv_len - first_key);
    let warp_first = warp * R as u32;
    let row = first_key as usize + warp_first as usize;
    let in_row = lane as usize * Warp::<S, G, D, R, E, WORDS, HALF, SLOTS>::VECTOR_BYTES;
    let cursor = |base: *const u8, stride_row: usize, stride_head: usize| {
        let row_bytes = stride_row * S::BYTES;
        let head = base.wrapping_add(kv_head * stride_head * S::BYTES + in_row);
        Cursor::new(head.wrapping_add(row * row_bytes), row_bytes, W * R)
    };
    let mut k = cursor(args.k, args.k_stride_row, args.k_stride_head);
    let mut v = cursor(args.v, args.v_stride_row, args.v_stride_head);

    // Rows of the split from this warp's next one on. The same in all lanes, so the warp stays whole for its shuffles.
    let mut left = keys.saturating_sub(warp_first);
    // SAFETY: `kv_head * G + g` is below num_q_heads, as the grid has num_kv_heads columns.
    let mut state = unsafe {
        let q = args.q.add(kv_head * G * args.q_stride_head);
        Warp::<S, G, D, R, E, WORDS, HALF, SLOTS>::new(q, args.q_stride_head, lane)
    };
    if const { ring_fits(W, R, WORDS) } {
        // SAFETY: the launch gives the ring its room, and the merge takes that only after the barrier below.
        let mut ring = unsafe { Ring::<R, WORDS>::new(args.shared, warp, lane) };
        // SAFETY: the next min(left, R) rows at k and v are live.
        unsafe { ring.request_first(&k, &v, left) };
        while left > 0 {
            k.pass_step();
            v.pass_step();
            let rest = left.saturating_sub((W * R) as u32);
            // SAFETY: the min(rest, R) rows of the step after this one are live, this lane is done with the step before,
            // and the whole warp is here.
            unsafe {
                ring.request_next(&k, &v, rest);
                state.step(&ring, left);
            }
            ring.turn();
            left = rest;
        }
        thread::sync_threads();
    } else {
        while left > 0 {
            // SAFETY: the next min(left, R) rows at k and v are live, and the whole warp is here.
            unsafe { state.step(&Loaded::<R, WORDS>::load(&k, &v, left), left) };
            k.pass_step();
            v.pass_step();
            left = left.saturating_sub((W * R) as u32);
        }
    }

    let shared = Shared::<G, D, W> { base: args.shared };
    let warp = warp as usize;
    // SAFETY: these are this warp's parts of the block's shared memory; every thread of the block passes the barrier
    // that stands between the writes of all warps and the reads of the merge.
    unsafe {
        state.publish(shared.acc(warp), shared.m(warp), shared.s(warp));
        thread::sync_threads();
        merge(args, &shared, kv_head, split as usize);
    }
}

/// Where the warps leave their results: `acc` as `[W, G, D]`, `m` and `s` as `[W, G]`.
struct Shared<const G: usize, const D: usize, const W: usize> {
    base: *mut f32,
}

impl<const G: usize, const D: usize, const W: usize> Shared<G, D, W> {
    #[inline(always)]
    fn acc(&self, warp: usize) -> *mut f32 {
        self.base.wrapping_add(warp * G * D)
    }

    #[inline(always)]
    fn m(&self, warp: usize) -> *mut f32 {
        self.base.wrapping_add(W * G * D + warp * G)
    }

    #[inline(always)]
    fn s(&self, warp: usize) -> *mut f32 {
        self.base.wrapping_add(W * G * D + (W + warp) * G)
    }
}

/// Section 5, "warps merge in order": four dimensions of one head a thread and turn.
///
/// # Safety
/// All warps have published, with a barrier in between; the scratch is laid out as section 2 says.
#[inline(always)]
unsafe fn merge<const G: usize, const D: usize, const W: usize>(
    args: &Args,
    shared: &Shared<G, D, W>,
    kv_head: usize,
    split: usize,
) {
    let mut item = thread::threadIdx_x() as usize;
    while item < G * D / 4 {
        let g = item / (D / 4);
        let d = item % (D / 4) * 4;

        // M = max over w of m_w.
        let mut top = LOWEST;
        unrolled!(w in 0..W, {
            // SAFETY: g < G, published by warp w.
            top = max(top, unsafe { shared.m(w).add(g).read() });
        });

        // S = fma(s_w, f_w, S), A[d] = fma(acc_w[d], f_w, A[d]), from +0, for w = 0 ... W-1.
        let mut s = 0.0;
        let mut a = [0.0; 4];
        unrolled!(w in 0..W, {
            // SAFETY: g < G and d + 3 < D, published by warp w; d is a multiple of 4, so the four are aligned.
            let (m_w, s_w, acc_w) = unsafe {
                (shared.m(w).add(g).read(), shared.s(w).add(g).read(), read_four(shared.acc(w).add(g * D + d)))
            };
            let f = exp(sub(m_w, top));
            s = fma(s_w, f, s);
            unrolled!(i in 0..4, {
                a[i] = fma(acc_w[i], f, a[i]);
            });
        });

        let place = (kv_head * G + g) * args.n_splits as usize + split;
        // SAFETY: `place` is below num_q_heads * n_splits, and every (head, split, dimension) has one writer in the
        // grid; part_acc is 16-byte aligned and d a multiple of 4.
        unsafe {
            args.part_acc.add(place * D + d).cast::<F32x4>().write(F32x4::new(a));
            if d == 0 {
                args.part_m.add(place).write(top);
                args.part_s.add(place).write(s);
            }
        }
        item += 32 * W;
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
