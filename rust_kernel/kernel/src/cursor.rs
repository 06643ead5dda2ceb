//! A lane's way through K or V.

use cuda_device::ptx_asm;

/// A lane's first vector of the warp's next row, the way from row to row, and the way from step to step, in bytes.
///
/// Addresses may leave the array; they are used only where their row is live.
pub struct Cursor {
    pub next: *const u8,
    pub row_bytes: usize,
    step_bytes: usize,
}

impl Cursor {
    /// At the row that lies at `first`, in steps of `step_rows` rows.
    #[inline(always)]
    pub fn new(first: *const u8, row_bytes: usize, step_rows: usize) -> Self {
        Self { next: first, row_bytes, step_bytes: row_bytes * step_rows }
    }

    /// Passes a step.
    ///
    /// In inline PTX, so that LLVM does not see a linear function of the step's number: it would keep an address for each
    /// row of a step and multiply all of them anew in every step.
    #[inline(always)]
    pub fn pass_step(&mut self) {
        let next: u64;
        // SAFETY: an addition of integers.
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
}
