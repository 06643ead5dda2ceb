//! Who is told of what the warps execute: nobody, or a tracer and a profiler.
//!
//! The executor is compiled once for each, so that a launch that no one watches pays nothing.

use std::sync::{Mutex, PoisonError};

use super::profile::Counters;
use super::regs::Regs;
use super::trace::Tracer;
use crate::program::Inst;

/// One instruction of one warp, about to be executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step<'a> {
    pub warp: usize,
    /// Index of the instruction in the program.
    pub at: u32,
    pub inst: &'a Inst,
    /// Lanes that have come here together.
    pub mask: u32,
    /// Those of them that the guard lets through.
    pub active: u32,
}

/// Told of every instruction that a worker of a launch executes.
pub(crate) trait Observer {
    /// May be told of blocks twice, when those that raced are run again.
    const MAY_REPEAT: bool = false;

    /// A block starts, or goes on.
    #[inline(always)]
    fn block(&mut self, _block: [u32; 3]) {}
    /// An instruction is about to be executed.
    #[inline(always)]
    fn before(&mut self, _step: &Step<'_>, _regs: &Regs<'_>) {}
    /// It was executed, by some lane at least, and was no branch of all lanes.
    #[inline(always)]
    fn after(&mut self, _step: &Step<'_>, _regs: &Regs<'_>) {}
}

/// A launch that no one watches.
pub(crate) struct Nobody;

impl Observer for Nobody {
    const MAY_REPEAT: bool = true;
}

/// What one worker of a watched launch tells and counts.
pub(crate) struct Watcher<'a, 't> {
    /// Shared by the workers, of whom one at most runs the traced block.
    pub tracer: Option<&'a Mutex<Tracer<'t>>>,
    /// The warp that is traced, in the block that runs now.
    traced: Option<usize>,
    pub counters: Option<Counters>,
}

impl<'a, 't> Watcher<'a, 't> {
    pub fn new(tracer: Option<&'a Mutex<Tracer<'t>>>, counters: Option<Counters>) -> Self {
        Self { tracer, traced: None, counters }
    }

    fn tell(&self, f: impl FnOnce(&mut Tracer<'t>)) {
        if let Some(tracer) = self.tracer {
            f(&mut tracer.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Observer for Watcher<'_, '_> {
    fn block(&mut self, block: [u32; 3]) {
        let mut traced = None;
        self.tell(|tracer| traced = tracer.warp_of(block));
        self.traced = traced;
    }

    fn before(&mut self, step: &Step<'_>, regs: &Regs<'_>) {
        if self.traced == Some(step.warp) {
            self.tell(|tracer| tracer.before(step, regs));
        }
        if let Some(counters) = &mut self.counters {
            counters.count(step, regs);
        }
    }

    fn after(&mut self, step: &Step<'_>, regs: &Regs<'_>) {
        if self.traced == Some(step.warp) {
            self.tell(|tracer| tracer.after(step, regs));
        }
    }
}
