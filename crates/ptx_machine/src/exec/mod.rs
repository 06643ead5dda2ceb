//! Execution: blocks on host threads, warps in turns, 32 lanes at a time.

mod agree;
mod approx;
mod async_copy;
mod atomic;
mod bits;
mod block;
mod carry;
mod collective;
mod compare;
mod convert;
mod float;
mod geometry;
mod grid;
mod int;
mod lanes;
mod memory;
mod observe;
mod policy;
mod profile;
mod race;
mod regs;
mod schedule;
mod shadow;
mod spaces;
mod trace;
mod warp;
mod witness;
mod word;

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use geometry::Geometry;
pub(crate) use grid::{BlockFault, MAX_BLOCK_BYTES, run};
pub(crate) use observe::{Nobody, Watcher};
pub(crate) use profile::Counters;
pub(crate) use spaces::Spaces;
pub(crate) use trace::{TracedText, Tracer};

use crate::launch::Path;
use crate::memory::{History, Segment};
use crate::program::{Inst, Program};
use regs::Regs;

/// Whether the host has the instructions that the native versions of instruction families are compiled for.
pub(crate) fn has_native() -> bool {
    #[cfg(target_arch = "x86_64")]
    let found = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    // Every 64-bit Arm processor has fused multiply-add.
    #[cfg(not(target_arch = "x86_64"))]
    let found = cfg!(target_arch = "aarch64");
    found
}

/// Which versions of the instruction families run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Isa {
    /// Only ever true where [`has_native`] is.
    native: bool,
}

impl Isa {
    pub fn new(path: Path) -> Self {
        Self { native: path == Path::Auto && has_native() }
    }

    #[inline]
    fn run(
        self,
        native: unsafe fn(&mut Regs<'_>, &Inst, u32),
        portable: fn(&mut Regs<'_>, &Inst, u32),
        regs: &mut Regs<'_>,
        inst: &Inst,
        mask: u32,
    ) {
        if self.native {
            // SAFETY: `native` functions are safe but for the target features that they are compiled with, and
            // `self.native` is true only where `has_native` found all of those.
            unsafe { native(regs, inst, mask) }
        } else {
            portable(regs, inst, mask);
        }
    }
}

/// Everything that the blocks of a launch share.
pub(crate) struct Job<'a> {
    pub program: &'a Program,
    pub geometry: Geometry,
    pub global: &'a [Segment],
    pub constant: &'a [Segment],
    pub params: &'a [Segment],
    /// Addresses of the module's `.global` variables.
    pub variables: &'a [u64],
    pub isa: Isa,
    pub limits: Limits<'a>,
    /// Look for races.
    pub races: bool,
    /// Launches that this one may overlap.
    pub history: Option<&'a History>,
    /// Blocks and warps take turns in an order that follows from this number.
    pub schedule: Option<u64>,
}

/// What ends a block before its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Warp instructions that it may execute.
    pub steps: u64,
    /// Set by whoever wants the launch to end.
    pub cancel: Option<&'a AtomicBool>,
}

impl Limits<'_> {
    fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}
