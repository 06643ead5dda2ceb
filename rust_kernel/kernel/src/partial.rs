//! The partial kernel: one KV head and one split of the context a block (contract, section 5).
//!
//! A row of K or V is one or two 16-byte vectors a lane. A warp step takes `R` rows, which come through shared memory
//! where it has room for them (`ring.rs`), or all at once to registers (`rows.rs`). Its `R * G` scores are reduced
//! together and end one or two to a lane (`butterfly.rs`); that lane alone takes their exponentials and keeps the sums
//! that belong to them. The accumulators stay with the lane that holds their dimension (`warp_state.rs`). At the end
//! the warps meet in shared memory (`shared.rs`) and are merged in order, here.

use cuda_device::{thread, vector::F32x4, warp};

use crate::arith::{LOWEST, exp, fma, max, sub};
use crate::dependent::{CAN_START_EARLY, let_next_start, wait_for_previous};
use crate::ring::Ring;
use crate::rows::{Cursor, Loaded};
use crate::shared::Exchange;
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
    /// The block's dynamic shared memory, [`crate::shared::Shape::bytes`] of it, 16-byte aligned.
    pub shared: *mut u8,
}

/// The whole kernel for `G` heads a KV head, head dimension `D`, `W` warps and `R` rows a step.
///
/// The rest follows from these and is spelled out only because array lengths must be: `E = D / 32` elements a lane,
/// `WORDS` 32-bit words of K or V a lane and row, `HALF = R / 2 * G` sums after the first level of the butterfly,
/// `SLOTS` scores a lane at its end, `PART` bytes of shared memory a warp, `STEPS` steps whose rows wait there, or none.
///
/// # Safety
/// The launch is as section 8 says: grid `(num_kv_heads, n_splits)`, block `32 * W`, dynamic shared memory as
/// `Shape::bytes` says; arrays, strides and alignment as section 2; `n_splits` is `ceil(kv_len / chunk)` and both are
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
    const PART: usize,
    const STEPS: usize,
>(
    args: &Args,
) {
    let_next_start();
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

    // Rows of the split from this warp's first one on.
    let left = keys.saturating_sub(warp_first);
    if CAN_START_EARLY {
        // SAFETY: the first `left` rows at k and v, `W * R` apart a step, are the warp's live ones.
        unsafe {
            k.prefetch::<R, WORDS>(left);
            v.prefetch::<R, WORDS>(left);
        }
    }
    let [q, k_next, v_next] = wait_for_previous([args.q as u64, k.next as u64, v.next as u64]);
    (k.next, v.next) = (k_next as *const u8, v_next as *const u8);

    // SAFETY: `kv_head * G + g` is below num_q_heads, as the grid has num_kv_heads columns.
    let mut state = unsafe {
        let q = (q as *const f32).add(kv_head * G * args.q_stride_head);
        Warp::<S, G, D, R, E, WORDS, HALF, SLOTS>::new(q, args.q_stride_head, lane)
    };
    let warp = warp as usize;
    let exchange = Exchange::<G, D, W, PART>::new(args.shared);
    // SAFETY: the first `left` rows at k and v, `W * R` apart a step, are the warp's live ones; the warp's part of the
    // shared memory holds its ring, if it has one; the whole warp is here.
    unsafe {
        if STEPS > 0 {
            let ring = Ring::<R, WORDS, STEPS>::new(exchange.part(warp), lane);
            walk_ring::<S, G, D, W, R, E, WORDS, HALF, SLOTS, STEPS>(&mut state, ring, k, v, left);
        } else {
            walk::<S, G, D, W, R, E, WORDS, HALF, SLOTS>(&mut state, k, v, left);
        }
    }

    // SAFETY: these are this warp's parts of the block's shared memory; every thread of the block passes the barrier
    // that stands between the writes of all warps and the reads of the merge.
    unsafe {
        state.publish(exchange.acc(warp), exchange.m(warp), exchange.s(warp));
        thread::sync_threads();
        merge::<G, D, W, PART>(args, &exchange, kv_head, split as usize);
    }
}

/// Walks the warp's `left` rows, with those of a step loaded straight to registers.
///
/// # Safety
/// Of every `W * R` rows at the cursors the first `R` are the warp's, `left` counting the others too, and
/// those are live; all lanes of the warp are here.
#[inline(always)]
unsafe fn walk<
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
    state: &mut Warp<S, G, D, R, E, WORDS, HALF, SLOTS>,
    mut k: Cursor,
    mut v: Cursor,
    mut left: u32,
) {
    // The count is the same in all lanes, so the warp stays whole for its shuffles.
    while left > 0 {
        // SAFETY: the next min(left, R) rows at k and v are live, and the whole warp is here.
        unsafe { state.step(&Loaded::new(&k, &v, left), left) };
        k.pass_step();
        v.pass_step();
        left = left.saturating_sub((W * R) as u32);
    }
}

/// The same through the warp's ring. The code that requests a step stands once, at the top, and runs ahead first.
///
/// # Safety
/// As [`walk`]; the ring is as [`Ring::request`] asks.
#[inline(always)]
unsafe fn walk_ring<
    S: Storage,
    const G: usize,
    const D: usize,
    const W: usize,
    const R: usize,
    const E: usize,
    const WORDS: usize,
    const HALF: usize,
    const SLOTS: usize,
    const STEPS: usize,
>(
    state: &mut Warp<S, G, D, R, E, WORDS, HALF, SLOTS>,
    mut ring: Ring<R, WORDS, STEPS>,
    mut k: Cursor,
    mut v: Cursor,
    left: u32,
) {
    // Both counts go below 0 at the end, by less than STEPS steps.
    let step = (W * R) as i32;
    let mut left = left as i32;
    let mut unrequested = left;
    while left > 0 {
        while left - unrequested < STEPS as i32 * step {
            // SAFETY: the next min(unrequested, R) rows at k and v are live; no step was in their place, or it has been
            // computed, as fewer than STEPS are requested and not computed.
            unsafe { ring.request(&k, &v, unrequested.max(0) as u32) };
            k.pass_step();
            v.pass_step();
            unrequested -= step;
        }
        Ring::<R, WORDS, STEPS>::wait();
        // SAFETY: all but the last STEPS - 1 requests, so the one of this step, are there; the whole warp is here.
        unsafe { state.step(&ring, left as u32) };
        ring.turn();
        left -= step;
    }
    // No copy is on its way: the last requests were for no row. Other lanes may still read what the merge will overwrite.
    warp::sync_mask(u32::MAX);
}

/// Section 5, "warps merge in order": four dimensions of one head a thread and turn.
///
/// # Safety
/// All warps have published, with a barrier in between, and are whole; the scratch is laid out as section 2 says.
#[inline(always)]
unsafe fn merge<const G: usize, const D: usize, const W: usize, const PART: usize>(
    args: &Args,
    exchange: &Exchange<G, D, W, PART>,
    kv_head: usize,
    split: usize,
) {
    // Items of a head are a multiple of a warp's lanes, so the warp takes or leaves a turn as a whole.
    const { assert!((D / 4).is_multiple_of(32)) };
    let lane = warp::lane_id();
    let mut item = thread::threadIdx_x() as usize;
    while item < G * D / 4 {
        let g = item / (D / 4);
        let d = item % (D / 4) * 4;

        // A warp's items are of one head. Lane w takes warp w's maximum, sum and factor, and brings them to the others.
        let own = if lane < W as u32 { lane as usize } else { 0 };
        // SAFETY: g < G, published by warp `own`.
        let (m_own, s_own) = unsafe { (exchange.m(own).add(g).read(), exchange.s(own).add(g).read()) };
        // M = max over w of m_w.
        let mut top = max(LOWEST, m_own);
        unrolled!(level in 0..5, {
            top = max(top, warp::shuffle_xor_f32(top, 16 >> level as u32));
        });
        let f_own = exp(sub(m_own, top));

        // S = fma(s_w, f_w, S), A[d] = fma(acc_w[d], f_w, A[d]), from +0, for w = 0 ... W-1.
        let mut s = 0.0;
        let mut a = [0.0; 4];
        unrolled!(w in 0..W, {
            // SAFETY: g < G and d + 3 < D, published by warp w; d is a multiple of 4, so the four are aligned.
            let acc_w = unsafe { read_four(exchange.acc(w).add(g * D + d)) };
            let f = warp::shuffle_f32(f_own, w as u32);
            s = fma(warp::shuffle_f32(s_own, w as u32), f, s);
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
