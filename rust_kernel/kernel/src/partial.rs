//! The partial kernel: one KV head and one split of the context a block (contract, section 5).
//!
//! A row of K or V is one or two 16-byte vectors a lane. A warp step takes `R` rows, which come through shared memory
//! where it has room for them (`ring.rs`), or all at once to registers (`rows.rs`). Its `R * G` scores are reduced
//! together and end one or two to a lane (`butterfly.rs`); that lane alone takes their exponentials and keeps the sums
//! that belong to them. The accumulators stay with the lane that holds their dimension (`warp_state.rs`). At the end
//! the warps meet in shared memory (`shared.rs`) and are merged in order (`merge.rs`).

use cuda_device::{thread, warp};

use crate::dependent::{let_next_start, wait_for_previous};
use crate::merge::merge;
use crate::ring::Ring;
use crate::rows::{Cursor, Loaded};
use crate::shared::Exchange;
use crate::storage::Storage;
use crate::target::CAN_START_EARLY;
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
    // Below 2^32: a few rows past kv_len at most, which is below 2^31.
    let row = (first_key + warp_first) as usize;
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
    let exchange = Exchange::<G, D, W, PART>::new(args.shared);
    // SAFETY: the first `left` rows at k and v, `W * R` apart a step, are the warp's live ones; the warp's part of the
    // shared memory holds its ring, if it has one; the whole warp is here.
    unsafe {
        if STEPS > 0 {
            let ring = Ring::<R, WORDS, STEPS>::new(exchange.part(warp as usize), lane);
            walk_ring::<S, G, D, W, R, E, WORDS, HALF, SLOTS, STEPS>(&mut state, ring, k, v, left);
        } else {
            walk::<S, G, D, W, R, E, WORDS, HALF, SLOTS>(&mut state, k, v, left);
        }
    }

    // SAFETY: these are this warp's parts of the block's shared memory; every thread of the block passes the barrier
    // that stands between the writes of all warps and the reads of the merge.
    unsafe {
        let own = warp as usize;
        state.publish(exchange.acc(own), exchange.m(own), exchange.s(own), W);
        thread::sync_threads();
        merge::<G, D, W, PART>(args, &exchange, warp, lane);
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
            unsafe { ring.request(&k, &v, unrequested) };
            k.pass_step();
            v.pass_step();
            unrequested -= step;
        }
        // SAFETY: this step was requested, and STEPS - 1 after it; the whole warp is here.
        unsafe { state.step(&ring, left as u32) };
        ring.turn();
        left -= step;
    }
    // No copy is on its way: the last requests were for no row. Other lanes may still read what the merge will overwrite.
    warp::sync_mask(u32::MAX);
}
