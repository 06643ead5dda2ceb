//! What a watched launch tells of each instruction of one warp.

use std::fmt;
use std::ops::RangeInclusive;

use crate::profile::Profile;
use crate::types::Scalar;

/// Lanes of a warp.
const LANES: usize = 32;

/// What to watch of a launch. Watching changes no result; a launch that is not watched pays nothing for it.
#[derive(Debug, Default)]
pub struct Watch<'t> {
    /// One warp, instruction by instruction.
    pub trace: Option<Trace<'t>>,
    /// Counts of every instruction: set by the launch, replacing what is there, when it ends well or faults.
    pub profile: Option<Profile>,
}

/// Which warp to trace, and where each step goes.
pub struct Trace<'t> {
    /// Block index (x, y, z).
    pub block: [u32; 3],
    /// Warp within the block.
    pub warp: u32,
    /// Lines of the source whose instructions are told.
    pub lines: RangeInclusive<u32>,
    /// Most steps that are told.
    pub limit: u64,
    /// Called with each step, in the order of execution.
    pub tell: Box<dyn FnMut(&TraceStep) + Send + 't>,
}

impl<'t> Trace<'t> {
    /// Every instruction of one warp.
    pub fn new(block: [u32; 3], warp: u32, tell: impl FnMut(&TraceStep) + Send + 't) -> Self {
        Self { block, warp, lines: 0..=u32::MAX, limit: u64::MAX, tell: Box::new(tell) }
    }
}

impl fmt::Debug for Trace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, warp, lines, limit, tell: _ } = self;
        f.debug_struct("Trace")
            .field("block", block)
            .field("warp", warp)
            .field("lines", lines)
            .field("limit", limit)
            .finish_non_exhaustive()
    }
}

/// One instruction that the traced warp executed, or faulted at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceStep {
    /// Counts the steps told, from 1.
    pub number: u64,
    /// Line of the source, counted from 1.
    pub line: u32,
    /// The instruction as the source writes it.
    pub instruction: String,
    /// Lanes that came to it together: bit `i` is lane `i`.
    pub arrived: u32,
    /// Lanes that its guard lets execute it.
    pub executed: u32,
    /// The registers that it reads, before it is executed.
    pub reads: Vec<TraceValue>,
    /// The registers that it writes, afterwards; none where no lane executes it, and where it faulted.
    pub writes: Vec<TraceValue>,
}

/// A register in all lanes of a warp.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceValue {
    /// Its name in the source.
    pub name: String,
    /// Its declared type.
    pub ty: Scalar,
    /// The bits of each lane, zero-extended; 0 or 1 for a predicate.
    pub bits: [u64; LANES],
    /// Lanes in which it was ever written.
    pub known: u32,
}
