//! How the rows of K and V come to a warp: straight to registers here, through shared memory in `ring.rs`.

use cuda_device::ptx_asm;

use crate::dependent::prefetch_if;
use crate::storage::{VECTOR_STRIDE, load_lane};
use crate::unroll::unrolled;

/// The `R` rows of a warp step, one lane's words of each. Masked rows of V are +0 (section 5.4); for those of K any
/// value does, as section 5.1 replaces the score.
pub trait Rows<const R: usize, const WORDS: usize> {
    /// Whether each lane gets its rows of K in its own order: as its i-th, row `i ^ own_row` ([`own_row`]).
    const ORDERED: bool;

    /// The rows of K.
    ///
    /// # Safety
    /// The implementation says when the rows are there.
    unsafe fn k(&self) -> [[u32; WORDS]; R];

    /// The rows of V.
    ///
    /// # Safety
    /// As [`Self::k`].
    unsafe fn v(&self) -> [[u32; WORDS]; R];
}

/// The row of a step whose scores the lane carries after the butterfly, which splits the rows first: its highest bits.
#[inline(always)]
pub fn own_row<const R: usize>(lane: u32) -> u32 {
    lane / (32 / R) as u32
}

/// A lane's way through K or V: its first vector of the warp's next row, and the ways from row to row and from step to
/// step in bytes. The address may leave the array; it is used only where its row is live.
pub struct Cursor {
    pub next: *const u8,
    pub row_bytes: usize,
    step_bytes: usize,
}

impl Cursor {
    /// At the row that lies at `first`; a step of the block is `step_rows` rows.
    #[inline(always)]
    pub fn new(first: *const u8, row_bytes: usize, step_rows: usize) -> Self {
        Self { next: first, row_bytes, step_bytes: step_rows * row_bytes }
    }

    /// Passes a step.
    ///
    /// The sum is inline PTX to hide from LLVM that the address is linear in the number of the step. It would carry an
    /// address for every row of a step from turn to turn, and ptxas would multiply each anew to save registers.
    #[inline(always)]
    pub fn pass_step(&mut self) {
        let next: u64;
        // SAFETY: adds two integers and touches nothing else.
        unsafe {
            ptx_asm!(
                "add.u64 %0, %1, %2;",
                out("=l") next,
                in("l") self.next as u64,
                in("l") self.step_bytes as u64,
                options(register_only, may_diverge),
            );
        }
        self.next = next as *const u8;
    }

    /// Asks for the lane's vectors of the next `R` rows to be brought to the L2, of those before `left`.
    ///
    /// # Safety
    /// The first `min(left, R)` rows are live.
    #[inline(always)]
    pub unsafe fn prefetch<const R: usize, const WORDS: usize>(&self, left: u32) {
        let mut row = self.next;
        unrolled!(r in 0..R, {
            unrolled!(i in 0..usize::div_ceil(WORDS, 4), {
                // SAFETY: the address is that of a row's vector where the row is live.
                unsafe { prefetch_if((r as u32) < left, row.wrapping_add(i * VECTOR_STRIDE)) };
            });
            row = row.wrapping_add(self.row_bytes);
        });
    }

    /// The lane's words of the next `R` rows. If `MASKED`, rows `left` and on are not read and count as +0.
    ///
    /// # Safety
    /// The first `left` of the next `R` rows are live, or all of them unless `MASKED`.
    #[inline(always)]
    unsafe fn load<const R: usize, const WORDS: usize, const MASKED: bool>(&self, left: u32) -> [[u32; WORDS]; R] {
        let mut rows = [[0; WORDS]; R];
        let mut row = self.next;
        unrolled!(r in 0..R, {
            // SAFETY: no one writes K and V any more (`memory.rs`), and section 2 gives base and strides the
            // alignment of the loads.
            rows[r] = unsafe { load_lane::<WORDS, MASKED>(row, (r as u32) < left) };
            row = row.wrapping_add(self.row_bytes);
        });
        rows
    }
}

/// The rows of one step in registers.
pub struct Loaded<const R: usize, const WORDS: usize> {
    k: [[u32; WORDS]; R],
    v: [[u32; WORDS]; R],
}

impl<const R: usize, const WORDS: usize> Loaded<R, WORDS> {
    /// Loads the next `R` rows; those from `left` on are masked.
    ///
    /// All loads come before the first use, and the branch holds them there: ptxas moves none past the place where its
    /// arms meet, but would defer half of V to save registers if the code ran straight on.
    ///
    /// # Safety
    /// The first `min(left, R)` rows at both cursors are live.
    #[inline(always)]
    pub unsafe fn new(k: &Cursor, v: &Cursor, left: u32) -> Self {
        if left >= R as u32 {
            // SAFETY: all R rows are live.
            unsafe { Self { k: k.load::<R, WORDS, false>(left), v: v.load::<R, WORDS, false>(left) } }
        } else {
            // SAFETY: this function's own contract.
            unsafe { Self { k: k.load::<R, WORDS, true>(left), v: v.load::<R, WORDS, true>(left) } }
        }
    }
}

impl<const R: usize, const WORDS: usize> Rows<R, WORDS> for Loaded<R, WORDS> {
    const ORDERED: bool = false;

    #[inline(always)]
    unsafe fn k(&self) -> [[u32; WORDS]; R] {
        self.k
    }

    #[inline(always)]
    unsafe fn v(&self) -> [[u32; WORDS]; R] {
        self.v
    }
}
