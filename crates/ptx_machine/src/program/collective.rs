//! Operations on memory that are whole, and operations across lanes and warps.

/// What an atomic operation makes of the old value and its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomOp {
    Add,
    And,
    Or,
    Xor,
    Min,
    Max,
    /// One more, or 0 past the operand.
    Inc,
    /// One less, or the operand where the old value is 0 or past it.
    Dec,
    Exch,
    /// The operand `s0`, where the old value equals `s1`.
    Cas,
}

/// How `redux` joins the values of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReduxOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// What a barrier counts among the predicates of its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierVote {
    Popc,
    And,
    Or,
}
