//! Two warp steps of K and V in shared memory, filled by asynchronous copies: while a step is computed the whole next one
//! is on its way, and its registers are free. Each lane copies exactly what it reads itself, so no warp waits for another.
//!
//! The ring changes no bit: it decides only where rows wait between memory and arithmetic.

use cuda_device::ptx_asm;

use crate::cursor::Cursor;
use crate::storage::VECTOR_STRIDE;
use crate::unroll::unrolled;
use crate::warp_state::Rows;

/// Steps that the ring holds: the one that is computed and the next.
const STEPS: usize = 2;

/// The most shared memory of one block, by the architecture that is compiled for (CUDA C++ Programming Guide, technical
/// specifications per compute capability). What every device has, where the architecture is not known.
const SHARED_PER_BLOCK: usize = match option_env!("CUDA_OXIDE_TARGET") {
    Some(target) => match target.as_bytes() {
        b"sm_80" => 163 * 1024,
        b"sm_90" => 227 * 1024,
        b"sm_89" | b"sm_120" | b"sm_121" => 99 * 1024,
        _ => 48 * 1024,
    },
    None => 48 * 1024,
};

/// Bytes of a row of `words` 32-bit words a lane.
const fn row_bytes(words: usize) -> usize {
    32 * 4 * words
}

/// Bytes of one warp's step: `rows` rows of K, then as many of V.
const fn step_bytes(rows: usize, words: usize) -> usize {
    2 * rows * row_bytes(words)
}

/// Shared memory of a block's ring.
#[must_use]
pub const fn ring_bytes(warps: usize, rows: usize, words: usize) -> usize {
    STEPS * warps * step_bytes(rows, words)
}

/// Whether a block has room for the ring. A copy moves 16 bytes and nothing else, so a lane's row is whole vectors.
#[must_use]
pub const fn ring_fits(warps: usize, rows: usize, words: usize) -> bool {
    words.is_multiple_of(4) && ring_bytes(warps, rows, words) <= SHARED_PER_BLOCK
}

/// One warp's ring, one lane's share of it. Addresses are those of shared memory, 32 bits wide.
pub struct Ring<const R: usize, const WORDS: usize> {
    /// This lane's place in the step that is computed.
    reading: u32,
    /// Its places in both steps add up to this, so that one subtraction leads to the other.
    both: u32,
}

impl<const R: usize, const WORDS: usize> Ring<R, WORDS> {
    /// The ring of warp `warp` in the block's shared memory at `shared`, nothing in it.
    ///
    /// # Safety
    /// `shared` points at [`ring_bytes`] of the block's dynamic shared memory, 16-byte aligned, which nothing else uses
    /// until every warp has read its last step.
    #[inline(always)]
    pub unsafe fn new(shared: *mut f32, warp: u32, lane: u32) -> Self {
        let base: u32;
        // SAFETY: `shared` is an address of shared memory, as the caller promises, so its window has a 32-bit one for it.
        unsafe {
            ptx_asm!(
                "{ .reg .b64 window; cvta.to.shared.u64 window, %1; cvt.u32.u64 %0, window; }",
                out("=r") base,
                in("l") shared as u64,
                options(register_only, may_diverge),
            );
        }
        let step = const { step_bytes(R, WORDS) as u32 };
        let reading = base + warp * (STEPS as u32 * step) + lane * 16;
        Self { reading, both: 2 * reading + step }
    }

    /// Asks for the first step's rows; see [`Self::request_next`].
    ///
    /// # Safety
    /// The first `min(left, R)` rows at both cursors are live.
    #[inline(always)]
    pub unsafe fn request_first(&self, k: &Cursor, v: &Cursor, left: u32) {
        // SAFETY: this function's own contract; no step has been read.
        unsafe { request::<R, WORDS>(self.reading, k, v, left) };
    }

    /// Waits for the step that was asked for last and asks for the one after it: `R` rows at each cursor, of which `left`
    /// are live and the others become +0.
    ///
    /// # Safety
    /// The first `min(left, R)` rows at both cursors are live, and this lane is done with the step before.
    #[inline(always)]
    pub unsafe fn request_next(&self, k: &Cursor, v: &Cursor, left: u32) {
        // SAFETY: waits for this lane's own copies, which are all that it reads.
        unsafe { ptx_asm!("cp.async.wait_group 0;", clobber("memory")) };
        // SAFETY: this function's own contract.
        unsafe { request::<R, WORDS>(self.both - self.reading, k, v, left) };
    }

    /// Goes on to the step that was asked for last.
    #[inline(always)]
    pub fn turn(&mut self) {
        self.reading = self.both - self.reading;
    }
}

impl<const R: usize, const WORDS: usize> Rows<WORDS> for Ring<R, WORDS> {
    #[inline(always)]
    fn k(&self, r: usize) -> [u32; WORDS] {
        read_row(self.reading + (r * row_bytes(WORDS)) as u32)
    }

    #[inline(always)]
    fn v(&self, r: usize) -> [u32; WORDS] {
        read_row(self.reading + ((R + r) * row_bytes(WORDS)) as u32)
    }
}

/// One group of copies: the rows of a step into its place in the ring.
///
/// # Safety
/// The first `min(left, R)` rows at both cursors are live, `place` is this lane's in a step of its ring, and this lane is
/// done with what is there.
#[inline(always)]
unsafe fn request<const R: usize, const WORDS: usize>(place: u32, k: &Cursor, v: &Cursor, left: u32) {
    let v_place = place + const { (R * row_bytes(WORDS)) as u32 };
    if left >= R as u32 {
        // SAFETY: all R rows are live.
        unsafe {
            copy_rows::<R, WORDS, false>(place, k, left);
            copy_rows::<R, WORDS, false>(v_place, v, left);
        }
    } else if left > 0 {
        // SAFETY: this function's own contract.
        unsafe {
            copy_rows::<R, WORDS, true>(place, k, left);
            copy_rows::<R, WORDS, true>(v_place, v, left);
        }
    }
    // SAFETY: closes this lane's group of copies and does nothing else.
    unsafe { ptx_asm!("cp.async.commit_group;", clobber("memory")) };
}

/// The lane's vectors of the `R` rows at a cursor. If `MASKED`, rows `left` and on are not read and become +0, which is
/// section 5.4's value for V; for K any value would do, as section 5.1 replaces the score.
///
/// # Safety
/// As [`request`]; all rows are live unless `MASKED`.
#[inline(always)]
unsafe fn copy_rows<const R: usize, const WORDS: usize, const MASKED: bool>(place: u32, rows: &Cursor, left: u32) {
    let mut row = rows.next;
    unrolled!(r in 0..R, {
        unrolled!(c in 0..WORDS / 4, {
            let to = place + (r * row_bytes(WORDS) + c * VECTOR_STRIDE) as u32;
            let from = row.wrapping_add(c * VECTOR_STRIDE);
            // SAFETY: K and V are not written while the kernel runs, and section 2 gives base and strides the alignment
            // of 16; `to` is this lane's alone.
            unsafe { if MASKED { copy_16_if((r as u32) < left, to, from) } else { copy_16(to, from) } };
        });
        row = row.wrapping_add(rows.row_bytes);
    });
}

/// Begins a copy of 16 bytes, past the L1 cache: no row is read twice.
///
/// # Safety
/// `from` is a multiple of 16 in readable global memory, `to` one in shared memory that is this lane's until it waits.
#[inline(always)]
unsafe fn copy_16(to: u32, from: *const u8) {
    // SAFETY: the caller's promise.
    unsafe {
        ptx_asm!("cp.async.cg.shared.global [%0], [%1], 16;", in("r") to, in("l") from as u64, clobber("memory"));
    }
}

/// The same, or 16 zeros at once where `live` is false.
///
/// # Safety
/// As [`copy_16`] if `live`; otherwise `from` may be anything.
#[inline(always)]
unsafe fn copy_16_if(live: bool, to: u32, from: *const u8) {
    // SAFETY: the caller's promise; the predicate is false where `from` may not be read.
    unsafe {
        ptx_asm!(
            "{ .reg .pred live; .reg .b32 zero; setp.ne.u32 live, %2, 0; mov.u32 zero, 0; \
             @live cp.async.cg.shared.global [%0], [%1], 16; \
             @!live st.shared.v4.b32 [%0], {zero, zero, zero, zero}; }",
            in("r") to,
            in("l") from as u64,
            in("r") u32::from(live),
            clobber("memory"),
        );
    }
}

/// A lane's words of a row that has arrived.
#[inline(always)]
fn read_row<const WORDS: usize>(place: u32) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    unrolled!(c in 0..WORDS / 4, {
        let (x, y, z, w): (u32, u32, u32, u32);
        // SAFETY: reads this lane's part of its ring, which it has filled; the default options keep it after the wait.
        unsafe {
            ptx_asm!(
                "ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];",
                out("=r") x,
                out("=r") y,
                out("=r") z,
                out("=r") w,
                in("r") place + (c * VECTOR_STRIDE) as u32,
            );
        }
        words[4 * c] = x;
        words[4 * c + 1] = y;
        words[4 * c + 2] = z;
        words[4 * c + 3] = w;
    });
    words
}
