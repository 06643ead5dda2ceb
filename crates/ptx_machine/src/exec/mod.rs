//! Execution: blocks on host threads, warps in turns, 32 lanes at a time.

mod approx;
mod async_copy;
mod bits;
mod block;
mod carry;
mod collective;
mod compare;
mod convert;
mod float;
mod geometry;
mod int;
mod lanes;
mod memory;
mod observe;
mod profile;
mod regs;
mod shadow;
mod spaces;
mod trace;
mod warp;
mod word;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) use geometry::Geometry;
pub(crate) use observe::{Nobody, Observer, Watcher};
pub(crate) use profile::Counters;
pub(crate) use spaces::Spaces;
pub(crate) use trace::{TracedText, Tracer};

use crate::fault::Trap;
use crate::launch::{LaunchStats, Path};
use crate::memory::Segment;
use crate::program::{Inst, Program};
use block::{BlockRunner, Located};
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

/// A fault with its block, warp and instruction.
pub(crate) struct BlockFault {
    pub block: [u32; 3],
    pub warp: usize,
    pub at: u32,
    pub trap: Box<Trap>,
}

/// What the workers of a launch tell each other.
struct Shared {
    next: AtomicU64,
    /// Lowest block with a fault so far; blocks past it need not run.
    lowest: AtomicU64,
    outcome: Mutex<(LaunchStats, Option<(u64, Located)>)>,
}

/// Most bytes of the host for the registers and the local memory of one block.
pub(crate) const MAX_BLOCK_BYTES: u64 = 1 << 29;
/// Most for all blocks that run at the same time.
const MAX_BYTES: u64 = 8 * MAX_BLOCK_BYTES;

/// Runs all blocks; of several faults, the one in the lowest block counts, whatever the order of execution.
///
/// Each worker has an observer from `observer`, and hands it to `done` when its last block has ended.
pub(crate) fn run<O: Observer>(
    job: &Job<'_>,
    threads: usize,
    observer: impl Fn() -> O + Sync,
    done: impl Fn(O) + Sync,
) -> Result<LaunchStats, BlockFault> {
    let shared = Shared {
        next: AtomicU64::new(0),
        lowest: AtomicU64::new(u64::MAX),
        outcome: Mutex::new((LaunchStats::default(), None)),
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = if threads == 0 { cores() } else { threads };
    let block_bytes = job.program.warp_bytes() * u64::from(job.geometry.warps());
    let most = job.geometry.blocks().min(MAX_BYTES / block_bytes.max(1));
    let workers = wanted.min(usize::try_from(most).unwrap_or(usize::MAX));
    let one = || {
        let mut observer = observer();
        work(job, &shared, &mut observer);
        done(observer);
    };
    std::thread::scope(|scope| {
        // The calling thread is one of the workers.
        (1..workers).for_each(|_| drop(scope.spawn(one)));
        one();
    });
    let (stats, fault) = shared.outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match fault {
        None => Ok(stats),
        Some((n, Located { trap, warp, at })) => Err(BlockFault { block: job.geometry.block_index(n), warp, at, trap }),
    }
}

/// Takes blocks, rising, until there are none left.
fn work<O: Observer>(job: &Job<'_>, shared: &Shared, observer: &mut O) {
    let spaces = Spaces::new(
        job.program,
        job.global,
        job.constant,
        job.params,
        job.geometry.warps(),
        job.geometry.dynamic_shared,
    );
    let mut runner = BlockRunner::new(job.isa, job.program, &job.geometry, spaces, job.limits);
    let mut fault = None;
    loop {
        let n = shared.next.fetch_add(1, Ordering::Relaxed);
        if n >= job.geometry.blocks() || n > shared.lowest.load(Ordering::Relaxed) {
            break;
        }
        if let Err(located) = runner.run(job.geometry.block_index(n), job.variables, observer) {
            shared.lowest.fetch_min(n, Ordering::Relaxed);
            fault = Some((n, located));
            break;
        }
    }
    let mut outcome = shared.outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    outcome.0.add(&runner.stats);
    if let Some((n, located)) = fault
        && outcome.1.as_ref().is_none_or(|(lowest, _)| n < *lowest)
    {
        outcome.1 = Some((n, located));
    }
}
