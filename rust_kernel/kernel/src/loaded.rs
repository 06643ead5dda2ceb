//! One warp step of K and V in registers, for tiles whose ring (`ring.rs`) does not fit a block.

use crate::cursor::Cursor;
use crate::storage::load_lane;
use crate::unroll::unrolled;
use crate::warp_state::Rows;

/// The rows of a step, this lane's words of them.
pub struct Loaded<const R: usize, const WORDS: usize> {
    k: [[u32; WORDS]; R],
    v: [[u32; WORDS]; R],
}

impl<const R: usize, const WORDS: usize> Loaded<R, WORDS> {
    /// Loads `R` rows at each cursor, of which `left` are live and the others become +0.
    ///
    /// All loads come before the first use, and the branch holds them there: ptxas moves none past the place where its
    /// arms meet, but would defer half of V to save registers if the code ran straight on.
    ///
    /// # Safety
    /// The first `min(left, R)` rows at both cursors are live.
    #[inline(always)]
    pub unsafe fn load(k: &Cursor, v: &Cursor, left: u32) -> Self {
        if left >= R as u32 {
            // SAFETY: all R rows are live.
            unsafe { Self { k: load_rows::<R, WORDS, false>(k, left), v: load_rows::<R, WORDS, false>(v, left) } }
        } else {
            // SAFETY: this function's own contract.
            unsafe { Self { k: load_rows::<R, WORDS, true>(k, left), v: load_rows::<R, WORDS, true>(v, left) } }
        }
    }
}

impl<const R: usize, const WORDS: usize> Rows<WORDS> for Loaded<R, WORDS> {
    #[inline(always)]
    fn k(&self, r: usize) -> [u32; WORDS] {
        self.k[r]
    }

    #[inline(always)]
    fn v(&self, r: usize) -> [u32; WORDS] {
        self.v[r]
    }
}

/// The lane's words of `R` rows. If `MASKED`, rows `left` and on are not read and count as +0, which is section 5.4's
/// value for V; for K any value would do, as section 5.1 replaces the score.
///
/// # Safety
/// The first `left` of the rows are live, or all of them unless `MASKED`.
#[inline(always)]
unsafe fn load_rows<const R: usize, const WORDS: usize, const MASKED: bool>(
    cursor: &Cursor,
    left: u32,
) -> [[u32; WORDS]; R] {
    let mut rows = [[0; WORDS]; R];
    let mut row = cursor.next;
    unrolled!(r in 0..R, {
        // SAFETY: K and V are not written while the kernel runs, and section 2 gives base and strides the alignment of
        // the loads.
        rows[r] = unsafe { load_lane::<WORDS, MASKED>(row, (r as u32) < left) };
        row = row.wrapping_add(cursor.row_bytes);
    });
    rows
}
