//! Rows of K and V that wait in shared memory: each warp has a ring of steps there, filled by asynchronous copies.
//!
//! A lane copies exactly the vectors that it reads later, 16 bytes at a time. So it waits for its own copies alone, and
//! no barrier is needed. While one step is computed the next ones are on their way, without a register to hold them.
//! K and V of a step are waited for one after the other, as the scores need no V. No one reads a row again, so the L2
//! may evict its lines before all others.

use core::marker::PhantomData;

use cuda_device::{ptx_asm, shared::cvta_generic_to_shared_offset};

use crate::memory::read_shared_16;
use crate::rows::{Cursor, Rows, own_row};
use crate::storage::VECTOR_STRIDE;
use crate::target::HAS_POLICY;
use crate::unroll::unrolled;

/// The ring of one warp, as one lane sees it: addresses of the shared window. It has `STEPS` places; a step's place
/// holds the `R` rows of K, then those of V; a row is `WORDS / 4` blocks of 32 vectors, a vector a lane.
pub struct Ring<const R: usize, const WORDS: usize, const STEPS: usize> {
    /// This lane's first vector in the place of the step that is computed next.
    now: u32,
    /// The same in the place of the step that is requested next.
    next: u32,
    /// Where there are two places, the sum of both; else the same behind the last place.
    turning: u32,
    /// How far into a step's place this lane's vector of each row of K lies: in its own order (`butterfly.rs`).
    k_places: [u32; R],
    /// The L2's policy for the lines that are copied.
    policy: u64,
    rows: PhantomData<[[u32; WORDS]; R]>,
}

impl<const R: usize, const WORDS: usize, const STEPS: usize> Ring<R, WORDS, STEPS> {
    /// Bytes of a row.
    const ROW: u32 = (WORDS / 4 * VECTOR_STRIDE) as u32;

    /// Bytes of a step's place.
    const PLACE: u32 = 2 * R as u32 * Self::ROW;

    /// The ring at `base`, with nothing in it.
    ///
    /// # Safety
    /// `base` points into the block's shared memory.
    #[inline(always)]
    pub unsafe fn new(base: *const u8, lane: u32) -> Self {
        // SAFETY: this function's own contract. The window is far smaller than 4 GiB.
        let base = unsafe { cvta_generic_to_shared_offset(base) } as u32;
        let first = base + lane * 16;
        let turning = if STEPS == 2 { 2 * first + Self::PLACE } else { first + STEPS as u32 * Self::PLACE };
        let own = own_row::<R>(lane);
        let mut k_places = [0; R];
        unrolled!(r in 0..R, {
            k_places[r] = (r as u32 ^ own) * Self::ROW;
        });
        Self { now: first, next: first, turning, k_places, policy: evict_first(), rows: PhantomData }
    }

    /// Requests the next `R` rows, those of K as one group of copies and those of V as the next: the first `live`, and +0
    /// for the others. Where no row is live the groups are empty, so that their count tells the steps apart all the same.
    ///
    /// # Safety
    /// The first `min(live, R)` rows at both cursors are live; the ring is `STEPS` steps' rows of shared memory, aligned
    /// to 16 and this warp's alone; the step whose place this is has been computed.
    #[inline(always)]
    pub unsafe fn request(&mut self, k: &Cursor, v: &Cursor, live: i32) {
        let (mut bytes, mut v_places) = ([0; R], [0; R]);
        unrolled!(r in 0..R, {
            bytes[r] = if (r as i32) < live { 16 } else { 0 };
            v_places[r] = (R + r) as u32 * Self::ROW;
        });
        // SAFETY: the places of K and V are R rows each; this lane reads what it copies there after the next wait
        // alone, and has read, earlier in its own order, what the copies overwrite.
        unsafe {
            if live > 0 {
                copy_rows::<R, WORDS>(self.next, &self.k_places, k, &bytes, self.policy);
                ptx_asm!("cp.async.commit_group;", clobber("memory"));
                copy_rows::<R, WORDS>(self.next, &v_places, v, &bytes, self.policy);
            } else {
                ptx_asm!("cp.async.commit_group;", clobber("memory"));
            }
            ptx_asm!("cp.async.commit_group;", clobber("memory"));
        }
        self.next = self.after(self.next);
    }

    /// Goes on to the next step; the place of the one just computed is free.
    #[inline(always)]
    pub fn turn(&mut self) {
        self.now = self.after(self.now);
    }

    /// The place after this one: of two the other, else the next, and the first after the last.
    #[inline(always)]
    fn after(&self, place: u32) -> u32 {
        if STEPS == 2 {
            return self.turning - place;
        }
        let after = place + Self::PLACE;
        if after == self.turning { after - STEPS as u32 * Self::PLACE } else { after }
    }

    /// Waits until every group of copies is there but the `newer` that were requested last, 2 to 5.
    #[inline(always)]
    fn wait(newer: usize) {
        const { assert!(matches!(STEPS, 0 | 2 | 3), "wait for that many steps, too") };
        // SAFETY: waits for this lane's own copies, all but the last groups, and touches nothing.
        unsafe {
            if newer == 2 {
                ptx_asm!("cp.async.wait_group 2;", clobber("memory"));
            } else if newer == 3 {
                ptx_asm!("cp.async.wait_group 3;", clobber("memory"));
            } else if newer == 4 {
                ptx_asm!("cp.async.wait_group 4;", clobber("memory"));
            } else {
                ptx_asm!("cp.async.wait_group 5;", clobber("memory"));
            }
        }
    }

    /// This lane's words of the `R` rows at `place`.
    ///
    /// # Safety
    /// They were copied there by this lane, which has waited for it.
    #[inline(always)]
    unsafe fn read(place: u32) -> [[u32; WORDS]; R] {
        let mut rows = [[0; WORDS]; R];
        unrolled!(r in 0..R, {
            unrolled!(i in 0..WORDS / 4, {
                // SAFETY: vector i of row r, 16-byte aligned, inside the step's place.
                let words = unsafe { read_shared_16(place + r as u32 * Self::ROW + (i * VECTOR_STRIDE) as u32) };
                unrolled!(word in 0..4, {
                    rows[r][4 * i + word] = words[word];
                });
            });
        });
        rows
    }
}

/// # Safety
/// Both methods: the step at hand was requested, and after it `STEPS - 1` others. Each waits for its own rows.
impl<const R: usize, const WORDS: usize, const STEPS: usize> Rows<R, WORDS> for Ring<R, WORDS, STEPS> {
    const ORDERED: bool = true;

    #[inline(always)]
    unsafe fn k(&self) -> [[u32; WORDS]; R] {
        // Newer are the step's V and two groups of each other step.
        Self::wait(2 * STEPS - 1);
        // SAFETY: this function's own contract.
        unsafe { Self::read(self.now) }
    }

    #[inline(always)]
    unsafe fn v(&self) -> [[u32; WORDS]; R] {
        Self::wait(2 * STEPS - 2);
        // SAFETY: likewise.
        unsafe { Self::read(self.now + R as u32 * Self::ROW) }
    }
}

/// Starts this lane's copies of the cursor's next `R` rows, each to its offset from `place`: the `bytes` first bytes of
/// each of its vectors, 16 or 0, and +0 for the others.
///
/// One code for whole and for part steps: it is run from a cold instruction cache, where a second one would cost more
/// than the few selects.
///
/// # Safety
/// Rows with `bytes` are live; at each offset from `place` is this lane's place of a row in shared memory, and no one
/// reads it before waiting; `policy` is one of `createpolicy`.
#[inline(always)]
unsafe fn copy_rows<const R: usize, const WORDS: usize>(
    place: u32,
    offsets: &[u32; R],
    cursor: &Cursor,
    bytes: &[u32; R],
    policy: u64,
) {
    let mut row = cursor.next;
    unrolled!(r in 0..R, {
        unrolled!(i in 0..WORDS / 4, {
            let to = place + offsets[r] + (i * VECTOR_STRIDE) as u32;
            // SAFETY: 16 bytes each, both aligned to 16 by section 2 and by the ring; the source is live or not read,
            // and no one writes K and V any more (`memory.rs`).
            unsafe { copy_16(to, row.wrapping_add(i * VECTOR_STRIDE), bytes[r], policy) };
        });
        row = row.wrapping_add(cursor.row_bytes);
    });
}

/// Starts a copy of `bytes` bytes, 16 or 0, from global to shared memory, past L1, and fills up 16 with zeros.
///
/// # Safety
/// Both addresses are multiples of 16, `to` one of the shared window; `from` is readable and not written, unless `bytes`
/// is 0, and no one uses what is at `to`, before this lane has waited for the copy; all lanes of the warp are here;
/// `policy` is one of `createpolicy`.
#[inline(always)]
unsafe fn copy_16(to: u32, from: *const u8, bytes: u32, policy: u64) {
    // SAFETY: the caller's promise. With memory clobbered, the copy stays behind the reads of what it overwrites.
    unsafe {
        if HAS_POLICY {
            ptx_asm!(
                "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;",
                in("r") to,
                in("l") from as u64,
                in("r") bytes,
                in("l") policy,
                clobber("memory"),
            );
        } else {
            ptx_asm!(
                "cp.async.cg.shared.global [%0], [%1], 16, %2;",
                in("r") to,
                in("l") from as u64,
                in("r") bytes,
                clobber("memory"),
            );
        }
    }
}

/// The policy by which lines leave the L2 before all others.
#[inline(always)]
fn evict_first() -> u64 {
    if !HAS_POLICY {
        return 0;
    }
    let policy: u64;
    // SAFETY: makes a constant and touches nothing.
    unsafe {
        ptx_asm!(
            "createpolicy.fractional.L2::evict_first.b64 %0;",
            out("=l") policy,
            options(register_only, may_diverge),
        );
    }
    policy
}
