//! One block: its warps take turns, and meet at barriers.

use super::observe::Observer;
use super::race::{Detector, GlobalShadow};
use super::schedule::Schedule;
use super::spaces::Spaces;
use super::warp::{Stop, Vote, Warp};
use super::{Geometry, Isa, Job, Limits};
use crate::fault::{FaultKind, Trap};
use crate::launch::LaunchStats;
use crate::program::Barrier;

/// Instructions that a warp executes before the next one's turn, so that one that waits for another by polling does
/// not wait for ever.
const TURN: u64 = 1 << 16;
/// Barriers of a block.
pub(super) const BARRIERS: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// Waits at the barrier with this id.
    Waiting(usize),
    Exited,
}

/// A barrier that some warps have reached.
#[derive(Debug, Clone, Copy, Default)]
struct Arrivals {
    threads: u32,
    /// The number of threads that it waits for, where the instruction says so.
    count: Option<u32>,
    /// What the threads that are there say, where the instruction counts.
    vote: Option<Vote>,
}

/// How far a block has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    Ended,
}

/// A fault with the warp and instruction that it happened at.
#[derive(Debug)]
pub(super) struct Located {
    pub trap: Box<Trap>,
    pub warp: usize,
    pub at: u32,
}

/// Runs blocks, one after the other, on memory that it keeps.
#[derive(Debug)]
pub(super) struct BlockRunner<'a> {
    isa: Isa,
    geometry: &'a Geometry,
    limits: Limits<'a>,
    /// Index of the block being run.
    block: [u32; 3],
    warps: Vec<Warp<'a>>,
    states: Vec<State>,
    spaces: Spaces<'a>,
    races: Option<Detector<'a>>,
    barriers: [Arrivals; BARRIERS],
    steps: u64,
    pub stats: LaunchStats,
}

impl<'a> BlockRunner<'a> {
    pub fn new(job: &'a Job<'a>, spaces: Spaces<'a>, global: Option<&'a GlobalShadow<'a>>) -> Self {
        let Job { program, geometry, isa, limits, .. } = job;
        let warps: Vec<_> = (0..geometry.warps() as usize).map(|w| Warp::new(program, w)).collect();
        let states = vec![State::Ready; warps.len()];
        let barriers = [Arrivals::default(); BARRIERS];
        let stats = LaunchStats { approximate: program.approximate, ..LaunchStats::default() };
        let races = global.map(|global| Detector::new(program, geometry, global, &spaces));
        let block = [0; 3];
        Self { isa: *isa, geometry, limits: *limits, block, warps, states, spaces, races, barriers, steps: 0, stats }
    }

    /// Turns to block number `n`; with a schedule, the lanes that a branch parts go in an order that it draws.
    pub fn start(&mut self, n: u64, globals: &[u64], mut schedule: Option<&mut Schedule>) {
        self.spaces.reset();
        self.barriers = [Arrivals::default(); BARRIERS];
        self.steps = 0;
        if let Some(races) = &mut self.races {
            races.start_block(n as u32);
        }
        self.block = self.geometry.block_index(n);
        for (warp, state) in self.warps.iter_mut().zip(&mut self.states) {
            warp.start(self.geometry.lanes(warp.index), schedule.as_mut().map(|schedule| schedule.fork()));
            self.geometry.fill(&mut warp.regs, warp.index, self.block, globals);
            *state = State::Ready;
        }
    }

    /// Instructions that the block has executed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Lets each warp that can run have a turn; with a schedule, one that it draws.
    pub fn round<O: Observer>(
        &mut self,
        schedule: Option<&mut Schedule>,
        observer: &mut O,
    ) -> Result<Progress, Located> {
        observer.block(self.block);
        let progress = match schedule {
            None => self.all_turns(observer)?,
            Some(schedule) => {
                let ready = (0..self.warps.len()).filter(|&w| self.states[w] == State::Ready);
                let picked = schedule.pick(ready);
                picked.map_or(Ok(()), |w| self.turn(w, schedule.turn(), observer))?;
                picked.is_some()
            }
        };
        if self.states.iter().all(|&s| s == State::Exited) {
            self.count();
            return Ok(Progress::Ended);
        }
        if !self.release() && !progress {
            return Err(self.deadlock());
        }
        Ok(Progress::More)
    }

    fn all_turns<O: Observer>(&mut self, observer: &mut O) -> Result<bool, Located> {
        let mut progress = false;
        for w in 0..self.warps.len() {
            if self.states[w] == State::Ready {
                self.turn(w, TURN, observer)?;
                progress = true;
            }
        }
        Ok(progress)
    }

    /// Adds what the block did to the counts.
    fn count(&mut self) {
        self.stats.blocks += 1;
        self.stats.warps += self.warps.len() as u64;
        for warp in &self.warps {
            self.stats.instructions += warp.counts.instructions;
            self.stats.thread_instructions += warp.counts.thread_instructions;
            self.stats.divergent_branches += warp.counts.divergent_branches;
        }
    }

    /// A fault of the block as a whole, at the first warp that has not exited.
    pub fn located(&self, trap: Box<Trap>) -> Located {
        let warp = self.states.iter().position(|&s| s != State::Exited).unwrap_or(0);
        Located { trap, warp, at: self.warps[warp].at }
    }

    /// Lets one warp run.
    fn turn<O: Observer>(&mut self, w: usize, turn: u64, observer: &mut O) -> Result<(), Located> {
        if self.limits.cancelled() {
            let trap = Trap::lanes(FaultKind::Cancelled, 0, "the launch was cancelled");
            return Err(Located { trap, warp: w, at: self.warps[w].at });
        }
        let warp = &mut self.warps[w];
        let turn = turn.min(self.limits.steps - self.steps);
        let before = warp.counts.instructions;
        let stop = warp.run(self.isa, &self.spaces, self.races.as_mut(), turn, observer);
        self.steps += warp.counts.instructions - before;
        let located = |warp: &Warp<'_>, trap| Located { trap, warp: w, at: warp.at };
        match stop.map_err(|trap| located(warp, trap))? {
            Stop::Exited => self.states[w] = State::Exited,
            Stop::Turn if self.steps >= self.limits.steps => {
                let hint = if warp.regs.program.waits_for_blocks() { "; it may wait for another block" } else { "" };
                let message = format!("the block has executed {} instructions, its step limit{hint}", self.steps);
                return Err(located(warp, Trap::lanes(FaultKind::StepLimit, 0, message)));
            }
            Stop::Turn => {}
            Stop::Barrier { kind, id, count, vote } => {
                self.arrive(w, kind, id, count, vote).map_err(|trap| Located {
                    trap,
                    warp: w,
                    at: self.warps[w].at,
                })?;
            }
        }
        Ok(())
    }

    fn arrive(
        &mut self,
        w: usize,
        kind: Barrier,
        id: u32,
        count: Option<u32>,
        vote: Option<Vote>,
    ) -> Result<(), Box<Trap>> {
        let bad = |message: String| Err(Trap::lanes(FaultKind::BadBarrier, 0, message));
        if id as usize >= BARRIERS {
            return bad(format!("barrier {id} does not exist; allowed: 0 to {}", BARRIERS - 1));
        }
        let threads = self.geometry.warps() * 32;
        if let Some(count) = count.filter(|&c| c == 0 || c % 32 != 0 || c > threads) {
            return bad(format!("{count} threads at a barrier; allowed: multiples of 32 up to the block's {threads}"));
        }
        let barrier = &mut self.barriers[id as usize];
        if barrier.threads > 0 && barrier.count != count {
            let shown = |c: Option<u32>| c.map_or("all".to_owned(), |c| c.to_string());
            return bad(format!("barrier {id} waits for {} threads, here for {}", shown(barrier.count), shown(count)));
        }
        if count.is_some_and(|count| barrier.threads + 32 > count) {
            return bad(format!("more threads than the count {} arrive at barrier {id}", barrier.threads));
        }
        barrier.vote = match (barrier.vote, vote) {
            (None, vote) if barrier.threads == 0 => vote,
            (None, None) => None,
            (Some(all), Some(own)) if all.how == own.how => {
                Some(Vote { yes: all.yes + own.yes, threads: all.threads + own.threads, ..own })
            }
            _ => return bad(format!("warps vote in different ways, or not at all, at barrier {id}")),
        };
        barrier.threads += 32;
        barrier.count = count;
        if let Some(races) = &mut self.races {
            races.arrive(w, id as usize);
        }
        if kind == Barrier::Sync {
            self.states[w] = State::Waiting(id as usize);
        }
        self.stats.barriers += 1;
        // A counted barrier may be used again by the warps that run on.
        if count == Some(barrier.threads) {
            self.open(id as usize);
        }
        Ok(())
    }

    /// Lets the warps at a barrier go on.
    fn open(&mut self, id: usize) {
        let Arrivals { vote, .. } = std::mem::take(&mut self.barriers[id]);
        let waiting = self.warps.iter_mut().zip(&self.states).filter(|(_, s)| **s == State::Waiting(id));
        if let Some(vote) = vote {
            waiting.for_each(|(warp, _)| warp.answer(vote));
        }
        if let Some(races) = &mut self.races {
            let waiting = self.states.iter().enumerate().filter(|(_, s)| **s == State::Waiting(id));
            races.open(id, waiting.map(|(w, _)| w));
        }
        for state in self.states.iter_mut().filter(|s| **s == State::Waiting(id)) {
            *state = State::Ready;
        }
    }

    /// Opens the barriers at which all warps that have not exited wait; whether there was one.
    fn release(&mut self) -> bool {
        let alive = self.states.iter().filter(|&&s| s != State::Exited).count() as u32;
        let mut opened = false;
        for id in 0..BARRIERS {
            let Arrivals { threads, count, .. } = self.barriers[id];
            if threads > 0 && count.is_none() && threads >= alive * 32 {
                self.open(id);
                opened = true;
            }
        }
        opened
    }

    fn deadlock(&self) -> Located {
        let waiting = self.states.iter().enumerate().filter_map(|(w, s)| match s {
            State::Waiting(id) => Some((w, *id)),
            _ => None,
        });
        let places = &self.warps[0].regs.program.places;
        let line = |w: usize| places[self.warps[w].at as usize].line;
        let shown: Vec<String> =
            waiting.clone().map(|(w, id)| format!("warp {w} at barrier {id}, line {}", line(w))).collect();
        let first = waiting.clone().next().map_or(0, |(w, _)| w);
        let message = format!("all warps that are left wait for others: {}", shown.join("; "));
        let trap = Trap::lanes(FaultKind::Deadlock, 0, message);
        Located { trap, warp: first, at: self.warps[first].at }
    }
}
