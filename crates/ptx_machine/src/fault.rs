//! Reports of a launch that went wrong.

use std::fmt;

/// What a running kernel did that it may not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access outside every allocation of its state space.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// A store to an allocation that is read-only.
    ReadOnly,
    /// An address of one state space used in another, or a generic one where the instruction may not go.
    WrongSpace,
    /// An address that depends on a value never written.
    UninitialisedAddress,
    /// A guard, or a branch, that depends on a value never written.
    UninitialisedPredicate,
    /// A store of a value never written to memory that is not scratch.
    UninitialisedStore,
    /// An operand of a barrier, shuffle or vote (id, count, lane, mask, the value that a lane reads), or a cache policy,
    /// that depends on a value never written.
    UninitialisedOperand,
    /// An operand with a value that PTX does not allow, such as a cache policy that `createpolicy` did not make.
    BadOperand,
    /// A barrier reached by part of a warp.
    DivergentBarrier,
    /// A branch, call or return that says `.uni`, executed by lanes that differ in its guard or its index.
    DivergentBranch,
    /// A barrier id or thread count that PTX does not allow.
    BadBarrier,
    /// Warps of a block wait at barriers that can never complete.
    Deadlock,
    /// A shuffle, vote or warp barrier whose member mask names lanes that are not there, or misses the executing lane.
    AbsentLane,
    /// Two accesses that nothing orders, of different threads, to the same bytes, one of them at least a write.
    Race,
    /// `ld.global.nc` of memory that the same launch writes.
    NonCoherentRead,
    /// More instructions than the step limit allows.
    StepLimit,
    /// The kernel executed `trap`.
    Trap,
    /// Whoever launched it has asked for its end. A launch reports this as [`crate::LaunchError::Cancelled`].
    Cancelled,
}

impl FaultKind {
    /// A stable, lower-case name, e.g. `out-of-bounds`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds",
            Self::Misaligned => "misaligned",
            Self::ReadOnly => "read-only",
            Self::WrongSpace => "wrong-space",
            Self::UninitialisedAddress => "uninitialised-address",
            Self::UninitialisedPredicate => "uninitialised-predicate",
            Self::UninitialisedStore => "uninitialised-store",
            Self::UninitialisedOperand => "uninitialised-operand",
            Self::BadOperand => "bad-operand",
            Self::DivergentBarrier => "divergent-barrier",
            Self::DivergentBranch => "divergent-branch",
            Self::BadBarrier => "bad-barrier",
            Self::Deadlock => "deadlock",
            Self::AbsentLane => "absent-lane",
            Self::Race => "race",
            Self::NonCoherentRead => "non-coherent-read",
            Self::StepLimit => "step-limit",
            Self::Trap => "trap",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One fault, with everything needed to find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Name of the PTX source.
    pub file: String,
    /// Name of the entry.
    pub kernel: String,
    /// Line in the PTX source, counted from 1.
    pub line: u32,
    /// The instruction as the source writes it.
    pub instruction: String,
    /// Block index (x, y, z).
    pub block: [u32; 3],
    /// Warp within the block.
    pub warp: u32,
    /// Lowest offending lane of the warp, where one lane is to blame.
    pub lane: Option<u32>,
    /// The offending address, for a memory fault (in the state space of the instruction).
    pub address: Option<u64>,
    /// What is wrong, with the nearest allocation and the offset for a memory fault.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        write!(f, "{}:{}: {} in {}", self.file, self.line, self.kind.name(), self.kernel)?;
        write!(f, ", block ({x}, {y}, {z}), warp {}", self.warp)?;
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        if let Some(address) = self.address {
            write!(f, ", address {address:#x}")?;
        }
        write!(f, ": {}: `{}`", self.message, self.instruction)
    }
}

impl std::error::Error for Fault {}

/// A fault as the executor sees it, before it is given its place.
#[derive(Debug)]
pub(crate) struct Trap {
    pub kind: FaultKind,
    pub lane: Option<u32>,
    pub address: Option<u64>,
    pub message: String,
}

impl Trap {
    /// A trap without an address; `lanes` is the mask of offending lanes.
    #[cold]
    pub fn lanes(kind: FaultKind, lanes: u32, message: impl Into<String>) -> Box<Self> {
        let lane = (lanes != 0).then(|| lanes.trailing_zeros());
        Box::new(Self { kind, lane, address: None, message: message.into() })
    }
}
