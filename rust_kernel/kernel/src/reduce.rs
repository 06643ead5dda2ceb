//! The reduce kernel: merges the splits of one query head (contract, section 6).
//!
//! A block takes 32 dimensions, one a lane; its eight warps are the eight classes of splits.

use cuda_device::{ptx_asm, thread, warp};

use crate::arith::{LOWEST, add, div, exp, fma, max, sub};
use crate::dependent::{let_next_start, wait_for_previous};
use crate::unroll::unrolled;

/// Section 6: the classes, and so the warps of a block.
pub const CLASSES: usize = 8;

/// Splits of a class whose loads are issued together. With one wave of blocks there are rarely more than 66 splits a
/// head (132 multiprocessors for 2 KV heads), so one batch is mostly all, or nearly.
const BATCH: usize = 8;

/// Maxima that a lane loads together when the warp looks for the greatest: 64 splits at once.
const SCAN: usize = 2;

/// What the launch passes, in the order of section 8.
pub struct Args {
    pub part_m: *const f32,
    pub part_s: *const f32,
    pub part_acc: *const f32,
    pub out: *mut f32,
    pub n_splits: u32,
    pub out_stride_head: usize,
}

/// Where the classes leave their sums: `a` as `[class][lane]`, `s` as `[class]`.
pub struct Exchange {
    pub a: *mut f32,
    pub s: *mut f32,
}

/// The whole kernel for head dimension `D`.
///
/// # Safety
/// The launch is as section 8 says: grid `(num_q_heads, D / 32)`, block 256; arrays as section 2, `n_splits >= 1`.
/// `exchange` points at shared memory of the block, `CLASSES * 32` and `CLASSES` floats.
#[inline(always)]
pub unsafe fn reduce<const D: usize>(args: &Args, exchange: &Exchange) {
    let_next_start();
    let lane = warp::lane_id();
    // Lane 0's copy, as in the partial kernel.
    let class = warp::shuffle(thread::threadIdx_x() / 32, 0);
    let head = thread::blockIdx_x() as usize;
    let d = (thread::blockIdx_y() * 32 + lane) as usize;

    // SAFETY: head < num_q_heads, so the head's n_splits entries lie in each array.
    let (m, s, acc) = unsafe {
        let first = head * args.n_splits as usize;
        (args.part_m.add(first), args.part_s.add(first), args.part_acc.add(first * D + d))
    };

    let [m, s, acc] = wait_for_previous([m as u64, s as u64, acc as u64]);
    let parts = Parts { m: m as *const f32, s: s as *const f32, acc: acc as *const f32, n: args.n_splits };
    // The first loads depend on nothing, so those of the sums travel while the maximum is sought.
    // SAFETY: `parts` is as `Parts` asks.
    let (maxima, first) = unsafe { (parts.load_maxima(lane), parts.load::<D>(class)) };
    // SAFETY: likewise, and all lanes of the warp are here.
    let top = unsafe { parts.maximum(lane, maxima) };
    // SAFETY: likewise.
    let (sum_s, sum_a) = unsafe { parts.class_sums::<D>(class, top, first) };

    // SAFETY: class < CLASSES and lane < 32, and each place has one writer; the barrier is reached by every thread and
    // stands between these writes and the reads below.
    unsafe {
        exchange.a.add((class * 32 + lane) as usize).write(sum_a);
        if lane == 0 {
            exchange.s.add(class as usize).write(sum_s);
        }
    }
    thread::sync_threads();

    if class == 0 {
        // S = S_0; S = S + S_1; ...; S = S + S_7, likewise A, in order.
        // SAFETY: as above.
        let (mut s, mut a) = unsafe { (exchange.s.read(), exchange.a.add(lane as usize).read()) };
        unrolled!(c in 0..CLASSES - 1, {
            // SAFETY: as above; c + 1 < CLASSES.
            unsafe {
                s = add(s, exchange.s.add(c + 1).read());
                a = add(a, exchange.a.add((c + 1) * 32 + lane as usize).read());
            }
        });
        // SAFETY: dimension d of row `head`, written by this lane alone.
        unsafe { args.out.add(head * args.out_stride_head + d).write(div(a, s)) };
    }
}

/// What the splits of one head left: `m` and `s` by split, `acc` by split in steps of `D`, at this lane's dimension.
///
/// The unsafe methods ask that all three are readable for `n >= 1` splits.
struct Parts {
    m: *const f32,
    s: *const f32,
    acc: *const f32,
    n: u32,
}

/// Maximum, sum and accumulator of one split.
type Part = [f32; 3];

impl Parts {
    /// The maxima of the splits `first, first + 32, ...`, one scan of them. Past the last split the last is read again,
    /// which a maximum does not mind.
    ///
    /// # Safety
    /// See [`Parts`].
    #[inline(always)]
    unsafe fn load_maxima(&self, first: u32) -> [f32; SCAN] {
        let mut maxima = [0.0; SCAN];
        unrolled!(i in 0..SCAN, {
            let j = (first + (i * 32) as u32).min(self.n - 1) as usize;
            // SAFETY: j < n.
            maxima[i] = unsafe { load(self.m.add(j)) };
        });
        maxima
    }

    /// `M = max(-FLT_MAX, m[0..n])`, ignoring NaN, the same in every lane. Each warp finds it for itself, `maxima` being
    /// the lane's first scan.
    ///
    /// # Safety
    /// See [`Parts`]; all lanes of the warp are here.
    #[inline(always)]
    unsafe fn maximum(&self, lane: u32, maxima: [f32; SCAN]) -> f32 {
        let mut maxima = maxima;
        let mut top = LOWEST;
        let mut scanned = 0;
        loop {
            unrolled!(i in 0..SCAN, {
                top = max(top, maxima[i]);
            });
            scanned += (SCAN * 32) as u32;
            if scanned >= self.n {
                break;
            }
            // SAFETY: as this function.
            maxima = unsafe { self.load_maxima(scanned + lane) };
        }
        unrolled!(level in 0..5, {
            top = max(top, warp::shuffle_xor_f32(top, 16 >> level as u32));
        });
        top
    }

    /// The splits `first, first + 8, ...`, one batch of them. Past the last split the last is read again.
    ///
    /// # Safety
    /// See [`Parts`].
    #[inline(always)]
    unsafe fn load<const D: usize>(&self, first: u32) -> [Part; BATCH] {
        let mut batch = [[0.0; 3]; BATCH];
        unrolled!(b in 0..BATCH, {
            let j = (first + (b * CLASSES) as u32).min(self.n - 1) as usize;
            // SAFETY: j < n.
            batch[b] = unsafe { [load(self.m.add(j)), load(self.s.add(j)), load(self.acc.add(j * D))] };
        });
        batch
    }

    /// `S_c` and `A_c[d]`: the splits `class, class + 8, ...` in order, `batch` being the first of them.
    ///
    /// # Safety
    /// See [`Parts`].
    #[inline(always)]
    unsafe fn class_sums<const D: usize>(&self, class: u32, top: f32, batch: [Part; BATCH]) -> (f32, f32) {
        let mut batch = batch;
        let mut sum_s = 0.0;
        let mut sum_a = 0.0;
        let mut j = class;
        loop {
            unrolled!(b in 0..BATCH, {
                let [m, s, a] = batch[b];
                let f = exp(sub(m, top));
                // A split that is not there leaves the sums alone, the sign of a zero and NaN included.
                if j + ((b * CLASSES) as u32) < self.n {
                    sum_s = fma(s, f, sum_s);
                    sum_a = fma(a, f, sum_a);
                }
            });
            j += (BATCH * CLASSES) as u32;
            if j >= self.n {
                break;
            }
            // SAFETY: as this function.
            batch = unsafe { self.load::<D>(j) };
        }
        (sum_s, sum_a)
    }
}

/// A load that stays where it is written. LLVM would sink a plain one past the search for the maximum, to its first
/// use, and the latency that is to be hidden would come back.
///
/// # Safety
/// `address` is readable global memory, aligned as an f32.
#[inline(always)]
unsafe fn load(address: *const f32) -> f32 {
    let value: f32;
    // SAFETY: the caller's promise; all lanes of the warp execute it together, which the default options demand.
    unsafe {
        ptx_asm!("ld.global.f32 %0, [%1];", out("=f") value, in("l") address as u64);
    }
    value
}
