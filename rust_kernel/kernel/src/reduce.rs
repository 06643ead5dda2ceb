//! The reduce kernel: merges the splits of one query head (contract, section 6).
//!
//! A block takes 32 dimensions. Half a warp sums a class of splits, a lane two dimensions of it; so four warps do the
//! work, one for each scheduler of a multiprocessor, and the other four only wait for the end. Each lane takes the factor
//! of one split and leaves it in shared memory for the others of its class.
//!
//! The kernel is a chain of waits for memory, so the loads of one turn, which is mostly all there is, are issued together
//! as soon as the partial kernel has ended. It takes at most 40 registers: two of its blocks then leave room on a
//! multiprocessor for the first block of the next call, which may start early.

use cuda_device::{SharedArray, ptx_asm, shared::cvta_generic_to_shared_offset, thread, vector::F32x2, warp};

use crate::arith::{LOWEST, add, div, exp, fma, max, sub};
use crate::butterfly::max_over_warp;
use crate::dependent::{let_next_start, prefetch_if, wait_for_previous};
use crate::memory::read_shared_16;
use crate::target::CAN_START_EARLY;
use crate::unroll::{keep_rolled, unrolled};

/// Section 6: the classes, and the warps of a block.
const CLASSES: usize = 8;

/// Lanes that share a class.
const HALF: u32 = 16;

/// Splits of a class that are loaded in one turn, at most `HALF`. One wave of blocks over 132 multiprocessors and two KV
/// heads makes 66 splits a head, 9 a class at most.
const BATCH: usize = 9;

/// Maxima that a lane loads together when the warp looks for the greatest: 96 splits at once. With more, ptxas has too
/// few registers for a turn, and puts loads off until the first of the others are there.
const SCAN: usize = 3;

/// Floats from one class's factors to the next one's: `HALF` pairs, and 16 bytes that put the two classes of a warp in
/// different banks.
const FACTOR_ROW: usize = 2 * HALF as usize + 4;

/// What the launch passes, in the order of section 8.
pub struct Args {
    pub part_m: *const f32,
    pub part_s: *const f32,
    pub part_acc: *const f32,
    pub out: *mut f32,
    pub n_splits: u32,
    pub out_stride_head: usize,
}

/// `A` of the classes: `[class][dimension]`.
pub type SumsA = SharedArray<f32, { CLASSES * 32 }, 16>;

/// `S` of the classes.
pub type SumsS = SharedArray<f32, CLASSES, 16>;

/// Factors and sums of the splits of a turn: `[class][split][2]`, [`FACTOR_ROW`] floats a class.
pub type Factors = SharedArray<f32, { CLASSES * FACTOR_ROW }, 16>;

/// The block's shared memory: where a [`SumsA`], a [`SumsS`] and a [`Factors`] are.
pub struct Exchange {
    pub a: *mut f32,
    pub s: *mut f32,
    pub factors: *mut f32,
}

/// The whole kernel for head dimension `D`.
///
/// # Safety
/// The launch is as section 8 says: grid `(num_q_heads, D / 32)`, block 256; arrays as section 2, `n_splits >= 1`.
/// `exchange` points at shared memory of the block. `part_acc` is one allocation, so that a head and a split, `D` floats
/// there, have a number of 32 bits.
#[inline(always)]
pub unsafe fn reduce<const D: usize>(args: &Args, exchange: &Exchange) {
    let_next_start();
    let lane = warp::lane_id();
    // Lane 0's copy, as in the partial kernel.
    let warp = warp::shuffle(thread::threadIdx_x() / 32, 0);
    let head = thread::blockIdx_x() as usize;
    let tile = thread::blockIdx_y() as usize * 32;

    if (warp as usize) < CLASSES / 2 {
        let (class, of_class) = (warp * 2 + lane / HALF, lane % HALF);
        let mut parts = Parts {
            m: args.part_m,
            s: args.part_s,
            acc: args.part_acc.wrapping_add(tile + 2 * of_class as usize),
            first: thread::blockIdx_x() * args.n_splits,
            n: args.n_splits,
            first_class: warp * 2,
            class,
            of_class,
        };
        if CAN_START_EARLY {
            // SAFETY: head < num_q_heads, so the head's n_splits entries lie in each array.
            unsafe { parts.prefetch::<D>(lane) };
        }
        let [m, s, acc] = wait_for_previous([parts.m as u64, parts.s as u64, parts.acc as u64]);
        (parts.m, parts.s, parts.acc) = (m as *const f32, s as *const f32, acc as *const f32);

        // SAFETY: likewise; all lanes of the warp are here; class < CLASSES, and 2 * of_class + 1 < 32 dimensions.
        unsafe {
            // Issued in the order of use.
            let maxima = parts.load_maxima(lane);
            let turn = parts.load_turn::<D>(0);
            let top = parts.maximum(lane, maxima);
            let factors = exchange.factors.add(class as usize * FACTOR_ROW);
            let (sum_s, sum_a) = parts.class_sums::<D>(top, turn, factors);
            exchange.a.add((class * 32 + 2 * of_class) as usize).cast::<F32x2>().write(F32x2::new(sum_a));
            if of_class == 0 {
                exchange.s.add(class as usize).write(sum_s);
            }
        }
    }
    // Each place has one writer; the barrier is reached by every thread and stands between the writes and the reads.
    thread::sync_threads();

    if warp == 0 {
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
        let d = tile + lane as usize;
        // SAFETY: dimension d of row `head`, written by this lane alone.
        unsafe { args.out.add(head * args.out_stride_head + d).write(div(a, s)) };
    }
}

/// What the splits of one head left, as one lane sees it.
///
/// Every address is made from the number of its split when it is needed, so that no pointer is kept.
///
/// The unsafe methods ask that the head's `n >= 1` splits are readable and that all lanes of the warp are there.
struct Parts {
    /// By head and split, as `s`.
    m: *const f32,
    s: *const f32,
    /// By head and split in steps of `D`, at the lane's first dimension.
    acc: *const f32,
    /// The head's first split among those of all heads.
    first: u32,
    n: u32,
    /// The class of the warp's first lane, and this lane's own.
    first_class: u32,
    class: u32,
    /// The lane's number among those of its class.
    of_class: u32,
}

/// What a lane loads for a turn: maximum and sum of the one split whose factor it takes, and `BATCH` rows at its two
/// dimensions. Where there is no split all of it is +0; `there` says so of the lane's own.
struct Turn {
    m: f32,
    s: f32,
    there: bool,
    acc: [[f32; 2]; BATCH],
}

impl Parts {
    /// Asks for what the first loads take to be brought to the L2, where it mostly is. What counts is that the way to it
    /// is then known: ptxas would leave the addresses for after the wait, and the pages may be new to this multiprocessor.
    ///
    /// # Safety
    /// See [`Parts`].
    #[inline(always)]
    unsafe fn prefetch<const D: usize>(&self, lane: u32) {
        let own = self.own(0);
        // SAFETY: where the split is there, so is what it left.
        unsafe {
            prefetch_if(lane < self.n, self.at(self.m, lane, 1).cast());
            prefetch_if(own < self.n, self.at(self.s, own, 1).cast());
            prefetch_if(self.class < self.n, self.at(self.acc, self.class, D).cast());
        }
    }

    /// Where split `split` of the head is in an array with `step` floats a split.
    #[inline(always)]
    fn at(&self, array: *const f32, split: u32, step: usize) -> *const f32 {
        array.wrapping_add((self.first + split) as usize * step)
    }

    /// The split whose factor this lane takes, in the turn before which `passed` splits were passed.
    #[inline(always)]
    fn own(&self, passed: u32) -> u32 {
        passed + self.class + self.of_class * CLASSES as u32
    }

    /// The maxima of the splits `first, first + 32, ...`, one scan of them.
    ///
    /// # Safety
    /// See [`Parts`].
    #[inline(always)]
    unsafe fn load_maxima(&self, first: u32) -> [f32; SCAN] {
        let m = self.at(self.m, first, 1);
        let mut maxima = [0.0; SCAN];
        unrolled!(i in 0..SCAN, {
            let there = first + ((i * 32) as u32) < self.n;
            // SAFETY: read where the split is below n.
            maxima[i] = unsafe { load_if(there, m.wrapping_add(i * 32), LOWEST) };
        });
        maxima
    }

    /// `M = max(-FLT_MAX, m[0..n])`, ignoring NaN, the same in every lane. Each warp finds it for itself, `maxima` being
    /// the lane's first scan.
    ///
    /// # Safety
    /// See [`Parts`].
    #[inline(always)]
    unsafe fn maximum(&self, lane: u32, maxima: [f32; SCAN]) -> f32 {
        let mut maxima = maxima;
        let mut top = LOWEST;
        let mut scanned = 0;
        loop {
            keep_rolled();
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
        max_over_warp(top)
    }

    /// Requests the turn of the splits `passed + class, passed + class + 8, ...`, one batch of them.
    ///
    /// # Safety
    /// See [`Parts`].
    #[inline(always)]
    unsafe fn load_turn<const D: usize>(&self, passed: u32) -> Turn {
        let own = self.own(passed);
        let there = own < self.n;
        let first = passed + self.class;
        let row = self.at(self.acc, first, D);
        let mut acc = [[0.0; 2]; BATCH];
        // SAFETY: all is read only where its split is below n.
        unsafe {
            let m = load_if(there, self.at(self.m, own, 1), 0.0);
            let s = load_if(there, self.at(self.s, own, 1), 0.0);
            unrolled!(b in 0..BATCH, {
                let split = first + (b * CLASSES) as u32;
                acc[b] = load_two_if(split < self.n, row.wrapping_add(b * CLASSES * D));
            });
            Turn { m, s, there, acc }
        }
    }

    /// `S_c` and `A_c[d]`: the splits of the class in order, `turn` being the first of them.
    ///
    /// A split that is not there has the factor -1, so that `fma(+0, -1, sum)` adds -0: this leaves a sum alone, the sign
    /// of a zero and NaN included, and spares every addition a predicate.
    ///
    /// # Safety
    /// See [`Parts`]; `factors` is the class's row in shared memory.
    #[inline(always)]
    unsafe fn class_sums<const D: usize>(&self, top: f32, turn: Turn, factors: *mut f32) -> (f32, [f32; 2]) {
        let mut turn = turn;
        let mut sum_s = 0.0;
        let mut sum_a = [0.0; 2];
        let mut passed = 0;
        // SAFETY: the row is in shared memory, whose window is far smaller than 4 GiB.
        let row = unsafe { cvta_generic_to_shared_offset(factors.cast()) } as u32;
        loop {
            keep_rolled();
            let f = exp(sub(turn.m, top));
            let f = if turn.there { f } else { -1.0 };
            // SAFETY: the lane's own place in the row; no lane of the warp reads the last turn's any more.
            unsafe { factors.add(2 * self.of_class as usize).cast::<F32x2>().write(F32x2::new([f, turn.s])) };
            warp::sync_mask(u32::MAX);
            // All are requested before the first is used.
            let mut pairs = [[0; 4]; BATCH.div_ceil(2)];
            unrolled!(i in 0..BATCH.div_ceil(2), {
                // SAFETY: two lanes' places, written before the barrier.
                pairs[i] = unsafe { read_shared_16(row + (i * 16) as u32) };
            });
            unrolled!(b in 0..BATCH, {
                let (f, s) = (f32::from_bits(pairs[b / 2][b % 2 * 2]), f32::from_bits(pairs[b / 2][b % 2 * 2 + 1]));
                sum_s = fma(s, f, sum_s);
                sum_a = [fma(turn.acc[b][0], f, sum_a[0]), fma(turn.acc[b][1], f, sum_a[1])];
            });
            passed = plus(passed, (BATCH * CLASSES) as u32);
            // The same in all lanes: they stay together.
            if passed + self.first_class >= self.n {
                break;
            }
            warp::sync_mask(u32::MAX);
            // SAFETY: as this function.
            turn = unsafe { self.load_turn::<D>(passed) };
        }
        (sum_s, sum_a)
    }
}

/// A sum that LLVM does not look into: of one that is linear in the number of the turn it would keep every value that
/// follows from it in a register of its own.
#[inline(always)]
fn plus(a: u32, b: u32) -> u32 {
    let sum: u32;
    // SAFETY: adds two integers and touches nothing else.
    unsafe {
        ptx_asm!("add.u32 %0, %1, %2;", out("=r") sum, in("r") a, in("r") b, options(register_only, may_diverge));
    }
    sum
}

/// A load that stays where it is written, of what is at `address` where `there`, or `otherwise` without a read. LLVM
/// would sink a plain one past the search for the maximum, to its first use, and the latency that is to be hidden would
/// come back.
///
/// # Safety
/// `address` is readable global memory, aligned as an f32, if `there`; all lanes of the warp are here.
#[inline(always)]
unsafe fn load_if(there: bool, address: *const f32, otherwise: f32) -> f32 {
    let value: f32;
    // SAFETY: the caller's promise, the predicate being false where the address may not be read.
    unsafe {
        ptx_asm!(
            "{ .reg .pred there; setp.ne.u32 there, %2, 0; mov.f32 %0, %3; @there ld.global.f32 %0, [%1]; }",
            out("=f") value,
            in("l") address as u64,
            in("r") u32::from(there),
            in("f") otherwise,
        );
    }
    value
}

/// The same for two floats, of an address aligned to 8; +0 where they are not there.
///
/// # Safety
/// As [`load_if`].
#[inline(always)]
unsafe fn load_two_if(there: bool, address: *const f32) -> [f32; 2] {
    let (a, b): (f32, f32);
    // SAFETY: as in `load_if`.
    unsafe {
        ptx_asm!(
            "{ .reg .pred there; setp.ne.u32 there, %3, 0; mov.f32 %0, 0f00000000; mov.f32 %1, 0f00000000; \
             @there ld.global.v2.f32 {%0, %1}, [%2]; }",
            out("=f") a,
            out("=f") b,
            in("l") address as u64,
            in("r") u32::from(there),
        );
    }
    [a, b]
}
