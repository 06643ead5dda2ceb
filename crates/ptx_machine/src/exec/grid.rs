//! The blocks of a launch on host threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::block::{BlockRunner, Located, Progress};
use super::observe::Observer;
use super::race::GlobalShadow;
use super::schedule::{Order, Schedule};
use super::{Job, Spaces};
use crate::fault::{FaultKind, Trap};
use crate::launch::LaunchStats;
use crate::memory::Effects;
use crate::program::packed_bytes;

/// A fault with its block, warp and instruction.
pub(crate) struct BlockFault {
    pub block: [u32; 3],
    pub warp: usize,
    pub at: u32,
    pub trap: Box<Trap>,
}

/// Most bytes of the host for the registers and the local memory of one block.
pub(crate) const MAX_BLOCK_BYTES: u64 = 1 << 29;
/// Most for all blocks that run at the same time.
const MAX_BYTES: u64 = 8 * MAX_BLOCK_BYTES;
/// Host bytes for a byte of shared memory, with what is remembered of it.
const SHARED_COST: u64 = 16;
/// Blocks of a drawn schedule that take turns from the start.
const MIXED_BLOCKS: usize = 16;
/// Instructions after which a block that reads what other blocks write makes room for those that have not begun; and
/// after which it is given up where one of the others has faulted.
const PATIENCE: u64 = 1 << 20;

/// What the workers of a launch tell each other.
struct Shared<'a> {
    global: Option<&'a GlobalShadow<'a>>,
    order: Order,
    next: AtomicU64,
    /// Lowest block with a fault so far; blocks past it need not run.
    lowest: AtomicU64,
    outcome: Mutex<(LaunchStats, Option<(u64, Located)>)>,
}

/// Runs all blocks, and tells what they did to memory; of several faults, the one in the lowest block counts, whatever the order of execution (with a
/// drawn schedule, the first one).
///
/// Each worker has an observer from `observer`, and hands it to `done` when its last block has ended.
pub(crate) fn run<O: Observer>(
    job: &Job<'_>,
    threads: usize,
    observer: impl Fn() -> O + Sync,
    done: impl Fn(O) + Sync,
) -> Result<(LaunchStats, Effects), BlockFault> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = match (job.schedule, threads) {
        (Some(_), _) => 1,
        (None, 0) => cores(),
        (None, threads) => threads,
    };
    let workers = wanted.min(most_blocks(job));
    let may_repeat = O::MAY_REPEAT && workers > 1;
    let global = job.races.then(|| GlobalShadow::new(job.global, job.history, may_repeat));
    let result = run_on(job, global.as_ref(), workers, &observer, &done);
    match (result, global) {
        (Err(fault), Some(global)) if may_repeat && global.has_crossed() => {
            // Which of two blocks was first, and so which of many races was found, is chance: in order, it is not.
            global.restore();
            let again = GlobalShadow::new(job.global, job.history, false);
            run_on(job, Some(&again), 1, &observer, &done)?;
            Err(fault)
        }
        (result, global) => {
            let effects = |stats| (stats, global.map_or_else(Effects::unknown, GlobalShadow::effects));
            result.map(effects)
        }
    }
}

/// How many blocks the host has room for at the same time.
fn most_blocks(job: &Job<'_>) -> usize {
    let shared = packed_bytes(&job.program.shared) + u64::from(job.geometry.dynamic_shared);
    let registers = job.program.warp_bytes() * u64::from(job.geometry.warps());
    let most = (MAX_BYTES / (registers + SHARED_COST * shared).max(1)).max(1);
    usize::try_from(job.geometry.blocks().min(most)).unwrap_or(usize::MAX)
}

fn run_on<O: Observer>(
    job: &Job<'_>,
    global: Option<&GlobalShadow<'_>>,
    workers: usize,
    observer: &(impl Fn() -> O + Sync),
    done: &(impl Fn(O) + Sync),
) -> Result<LaunchStats, BlockFault> {
    let blocks = job.geometry.blocks();
    let mut schedule = job.schedule.map(Schedule::new);
    let shared = Shared {
        global,
        order: schedule.as_mut().map_or(Order::rising(blocks), |schedule| Order::drawn(blocks, schedule)),
        next: AtomicU64::new(0),
        lowest: AtomicU64::new(u64::MAX),
        outcome: Mutex::new((LaunchStats::default(), None)),
    };
    let most = most_blocks(job) / workers;
    let work = |schedule| {
        let mut observer = observer();
        Worker::new(job, &shared, schedule, most).work(&mut observer);
        done(observer);
    };
    std::thread::scope(|scope| {
        // The calling thread is one of the workers.
        (1..workers).for_each(|_| drop(scope.spawn(|| work(None))));
        work(schedule);
    });
    let (stats, fault) = shared.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    match fault {
        None => Ok(stats),
        Some((n, Located { trap, warp, at })) => Err(BlockFault { block: job.geometry.block_index(n), warp, at, trap }),
    }
}

/// A host thread with the blocks that it runs in turns.
struct Worker<'a> {
    job: &'a Job<'a>,
    shared: &'a Shared<'a>,
    schedule: Option<Schedule>,
    /// Most blocks at the same time.
    most: usize,
    active: Vec<(u64, BlockRunner<'a>)>,
    idle: Vec<BlockRunner<'a>>,
    /// Whether blocks may wait for each other.
    may_wait: bool,
    /// Instructions since the last block began or ended, or the first fault was noticed.
    since: u64,
    /// Whether a fault has been noticed, here or elsewhere.
    faulted: bool,
}

impl<'a> Worker<'a> {
    fn new(job: &'a Job<'a>, shared: &'a Shared<'a>, schedule: Option<Schedule>, most: usize) -> Self {
        let may_wait = job.program.waits_for_blocks();
        Self { job, shared, schedule, most, active: Vec::new(), idle: Vec::new(), may_wait, since: 0, faulted: false }
    }

    /// Takes blocks in order until there are none left.
    fn work<O: Observer>(mut self, observer: &mut O) {
        let mut fault = None;
        while self.take() {
            self.abandon();
            let i = match &mut self.schedule {
                Some(schedule) => schedule.below(self.active.len() as u64) as usize,
                None => 0,
            };
            let Some((n, runner)) = self.active.get_mut(i) else { continue };
            let n = *n;
            let before = runner.steps();
            let progress = runner.round(self.schedule.as_mut(), observer);
            self.since += runner.steps() - before;
            match progress.and_then(|progress| self.check_patience(i, progress)) {
                Ok(Progress::More) if self.schedule.is_none() => self.active.rotate_left(1),
                Ok(Progress::More) => {}
                Ok(Progress::Ended) => {
                    self.idle.push(self.active.swap_remove(i).1);
                    self.since = 0;
                }
                Err(located) => {
                    self.shared.lowest.fetch_min(n, Ordering::Relaxed);
                    fault = Some((n, located));
                    // Only in lower blocks could there be one that counts more.
                    self.active.retain(|(other, _)| self.schedule.is_none() && *other < n);
                    self.since = 0;
                }
            }
        }
        self.report(fault);
    }

    /// Starts another block where it should; whether there is something to run.
    fn take(&mut self) -> bool {
        let lowest = self.shared.lowest.load(Ordering::Relaxed);
        let wanted = match self.active.len() {
            0 => true,
            _ if lowest != u64::MAX => false,
            n if n >= self.most => false,
            n if self.schedule.is_some() && n < MIXED_BLOCKS => true,
            _ => self.may_wait && self.since >= PATIENCE,
        };
        if wanted && let Some(n) = self.shared.order.get(self.shared.next.fetch_add(1, Ordering::Relaxed)) {
            if n > lowest || (lowest != u64::MAX && self.schedule.is_some()) {
                return !self.active.is_empty();
            }
            let mut runner = self.idle.pop().unwrap_or_else(|| self.runner());
            runner.start(n, self.job.variables, self.schedule.as_mut());
            // The new block goes first.
            self.active.insert(0, (n, runner));
            self.since = 0;
        }
        !self.active.is_empty()
    }

    /// Gives up blocks that no longer count, and those that may wait for one that has faulted: for ever.
    fn abandon(&mut self) {
        let lowest = self.shared.lowest.load(Ordering::Relaxed);
        if lowest != u64::MAX && !self.faulted {
            self.faulted = true;
            self.since = 0;
        }
        let too_long = self.faulted && self.may_wait && self.since >= PATIENCE;
        self.active.retain(|(n, _)| *n <= lowest && !too_long);
    }

    fn runner(&self) -> BlockRunner<'a> {
        let Job { program, geometry, .. } = self.job;
        let spaces = Spaces::new(
            program,
            self.job.global,
            self.job.constant,
            self.job.params,
            geometry.warps(),
            geometry.dynamic_shared,
        );
        BlockRunner::new(self.job, spaces, self.shared.global)
    }

    /// Blocks that wait for each other for ever must end too.
    fn check_patience(&self, i: usize, progress: Progress) -> Result<Progress, Located> {
        let all_wait = self.active.len() > 1 && self.since >= self.job.limits.steps;
        if progress == Progress::Ended || !all_wait {
            return Ok(progress);
        }
        let message = format!(
            "{} blocks that run in turns have executed {} instructions, the step limit of one, and none has ended",
            self.active.len(),
            self.since
        );
        Err(self.active[i].1.located(Trap::lanes(FaultKind::StepLimit, 0, message)))
    }

    fn report(self, fault: Option<(u64, Located)>) {
        let mut outcome = self.shared.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let runners = self.idle.iter().chain(self.active.iter().map(|(_, runner)| runner));
        runners.for_each(|runner| outcome.0.add(&runner.stats));
        if let Some((n, located)) = fault
            && outcome.1.as_ref().is_none_or(|(lowest, _)| n < *lowest)
        {
            outcome.1 = Some((n, located));
        }
    }
}
