//! Decoded instructions: operands are slots of register files, branches are indices, modifiers are enums.

mod access;
mod collective;
mod kernel;
mod number;
mod policy;
mod word;

use crate::types::{Scalar, Space};

pub(crate) use access::{Access, AsyncCopy, Order, Reach, Scope};
pub(crate) use collective::{AtomOp, BarrierVote, ReduxOp};
pub(crate) use kernel::{Own, Place, Placed, Program, packed_bytes};
pub(crate) use number::{Float, Int, Round};
pub(crate) use policy::{is_policy, policy};
pub(crate) use word::{Carry, CarryOp, Halves, WordOp};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;

/// A value of up to 32 bits in each lane.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(crate) struct V32(pub [u32; LANES]);

/// A value of 64 bits in each lane.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub(crate) struct V64(pub [u64; LANES]);

/// Place of an operand in the file that the instruction implies. The high bit marks a constant of the program, or the
/// negation of a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(pub u16);

impl Slot {
    pub const FLAG: u16 = 0x8000;
    pub const NONE: Slot = Slot(u16::MAX);
    /// Most slots of a file.
    pub const MAX: usize = 0x7fff;

    pub fn is_flagged(self) -> bool {
        self.0 & Self::FLAG != 0
    }

    pub fn index(self) -> usize {
        usize::from(self.0 & !Self::FLAG)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IntOp {
    Add,
    Sub,
    MulLo,
    MulHi,
    MulWide,
    MadLo,
    MadHi,
    MadWide,
    Div,
    Rem,
    Abs,
    Neg,
    Min,
    Max,
    Sad,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BitOp {
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    Shr,
    Bfe,
    Bfi,
    Brev,
    Clz,
    Popc,
    /// The position of the leading bit, or the shift that brings it to the top.
    Bfind {
        shift: bool,
    },
    /// Funnel shift.
    Shf {
        left: bool,
        wrap: bool,
    },
    Lop3 {
        table: u8,
    },
    Prmt(Prmt),
}

/// How `prmt` picks bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prmt {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Sqrt,
    Rcp,
    Neg,
    Abs,
    Min {
        nan: bool,
    },
    Max {
        nan: bool,
    },
    /// Minima and maxima beyond those of two operands.
    Extreme(Extreme),
    /// No exact definition; only where the module is not strict.
    Approx(Approx),
}

/// `min` and `max` with `.abs`, `.xorsign.abs` or a third operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is a modifier of its own, and all combinations exist.
pub(crate) struct Extreme {
    pub max: bool,
    pub nan: bool,
    /// Magnitudes are compared.
    pub abs: bool,
    /// The result has the product's sign.
    pub xorsign: bool,
    pub three: bool,
}

/// Functions that a device approximates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approx {
    Div,
    DivFull,
    Rcp,
    Sqrt,
    Rsqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
}

/// Modifiers of float arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FloatMode {
    pub round: Round,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
}

/// How the floats of an operand lie in its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    One(Float),
    /// Two f16 or bf16 in 32 bits.
    Pair16(Float),
    /// Two f32 in 64 bits.
    Pair32,
}

/// Comparison of `setp` and `set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// As above, and true for unordered operands.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    /// Both are numbers.
    Num,
    /// One is NaN.
    Nan,
}

/// How a comparison is joined with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    None,
    And,
    Or,
    Xor,
}

/// Operand type of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CmpType {
    Int(Int),
    Float(Float, bool),
    /// Two f16 or bf16 in a register.
    Pair(Float, bool),
}

/// Result of `set`, in each half where the operands are pairs: all ones, ones in the low 16 bits, or 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetResult {
    Ones,
    Ones16,
    One(Float),
}

/// A conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is a modifier of its own, and all combinations exist.
pub(crate) struct Cvt {
    pub to: Scalar,
    pub from: Scalar,
    pub round: Round,
    /// A float is rounded to a whole number.
    pub integral: bool,
    pub ftz: bool,
    pub sat: bool,
    pub relu: bool,
    /// A result past the largest number is that number.
    pub satfinite: bool,
    /// The destination and source registers are 64 bits wide, whatever the types are.
    pub to_wide: bool,
    pub from_wide: bool,
    /// The destination register is 16 bits wide.
    pub to_narrow: bool,
}

impl Cvt {
    /// Whether it converts two operands into the halves of one register.
    pub fn is_pair(&self) -> bool {
        matches!(self.to, Scalar::F16x2 | Scalar::Bf16x2) && self.from == Scalar::F32
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// What a warp does at a block barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    Sync,
    Arrive,
}

/// What an instruction does. `s` and `d` are [`Inst::s`] and [`Inst::d`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Nothing (a prefetch).
    Nop,
    /// `griddepcontrol.wait`: what launches before this one did is over.
    WaitForLaunches,
    /// `membar` and `fence`.
    Fence(Order, Scope),
    /// `d0 = s0`, files of 32 and 64 bits.
    Mov32,
    Mov64,
    /// `d0 = s0`, predicates.
    MovPred,
    /// Parts `s` of 16 or 32 bits to one register of 32 or 64.
    Pack {
        part: u8,
        count: u8,
    },
    Unpack {
        part: u8,
        count: u8,
    },
    Int(IntOp, Int),
    /// `d0 = op(s0, s1, s2)`, words of 32 bits.
    Word(WordOp),
    /// `d0`, with the carry in predicate `s3` and out to predicate `d1`.
    Carry(Carry),
    Bits(BitOp, Int),
    /// And, or, xor, not of predicates.
    PredLogic(BitOp),
    Float(FloatOp, Shape, FloatMode),
    /// `d0 = table of s0, s1, s2`; predicate `d1` says whether it is not 0, joined with predicate `s3`.
    Lop3Test {
        table: u8,
        join: Join,
    },
    /// `d0|d1 = s0 cmp s1`, joined with predicate `s2`.
    Setp(Cmp, CmpType, Join),
    Set(Cmp, CmpType, Join, SetResult),
    /// `d0 = s2 ? s0 : s1`.
    Selp32,
    Selp64,
    /// `d0 = s2 >= 0 ? s0 : s1`.
    Slct {
        wide: bool,
        by: CmpType,
    },
    Cvt(Cvt),
    Copysign(Float),
    Testp(Testp, Float),
    /// Parts to `d` from `[s4 + imm]`, with the cache policy `s0` where given.
    Load(Access),
    /// Parts from `s` to `[s4 + imm]`, with the cache policy `d0` where given: parts may take all sources but the last.
    Store(Access),
    /// Old parts of `[s4 + imm]` to `d`, new ones made with `s` in their place.
    Atom(Access, AtomOp),
    IsSpace(Space),
    /// To `[s0 + low half of imm]` from `[s1 + high half of imm]`, reading `s2` bytes and with the cache policy `s3`
    /// where given.
    AsyncCopy(AsyncCopy),
    AsyncCommit,
    /// Waits for all groups but the last `imm`.
    AsyncWait,
    AsyncWaitAll,
    /// `d0 = imm`, a cache policy for the fraction `s0` where given.
    CreatePolicy,
    /// `d0|p d1 = s0 of the lane that s1, s2 say`, members `s3`.
    Shfl(ShflMode),
    /// Predicate `s0`, members `s1`.
    Vote(VoteMode),
    /// `d0 = ` members (`s1`) with the value `s0` of this lane; `d1`: all have.
    Match {
        all: bool,
        wide: bool,
    },
    /// `d0 = ` the values `s0` of the members `s1`, joined.
    Redux {
        op: ReduxOp,
        signed: bool,
    },
    /// `d0 = ` the leader of the members `s0`, `d1`: this lane is it.
    Elect,
    ActiveMask,
    /// `d0 = ` instructions that the warp has executed: a clock for kernels that are not strict.
    Clock {
        wide: bool,
    },
    /// `bar.warp.sync s0`.
    WarpSync,
    /// Barrier `s0`, threads `s1`.
    Barrier {
        kind: Barrier,
        counted: bool,
        aligned: bool,
    },
    /// The same, and `d0 = ` what its threads vote with predicate `s2`.
    BarrierVote {
        vote: BarrierVote,
        counted: bool,
    },
    /// `imm`: target in the low half, reconvergence point in the high half.
    Branch(Promise),
    /// `imm`: the list of targets in the low half, reconvergence point in the high half; which of them: `s0`.
    BranchIndexed(Promise),
    /// `imm`: where the function starts.
    Call(Promise),
    Return(Promise),
    Exit(Promise),
    Trap,
}

/// What the text promises of the lanes that come to a branch, a call or a return together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Promise {
    /// Nothing.
    None,
    /// `.uni`: all of them do the same.
    Uniform,
}

impl Op {
    /// The memory operand of a load, a store or an atomic operation.
    pub fn access(&self) -> Option<&Access> {
        match self {
            Op::Load(access) | Op::Store(access) | Op::Atom(access, _) => Some(access),
            _ => None,
        }
    }
}

/// What `testp` asks of a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Testp {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// One decoded instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inst {
    pub op: Op,
    pub d: [Slot; 4],
    pub s: [Slot; 5],
    /// Predicate that must be true in a lane, [`Slot::NONE`] if none; flagged: must be false.
    pub guard: Slot,
    /// Address offset, or the two halves of a branch.
    pub imm: i64,
}

// The hot loop reads these one after the other: an operation with more to say keeps it elsewhere.
const _: () = assert!(size_of::<Inst>() <= 40);

impl Inst {
    pub fn new(op: Op) -> Self {
        Self { op, d: [Slot::NONE; 4], s: [Slot::NONE; 5], guard: Slot::NONE, imm: 0 }
    }

    /// The body that a call enters: the place of what it has of its own in [`Program::own`].
    pub fn callee(&self) -> usize {
        (self.imm >> 32) as usize
    }

    /// The instruction that a branch or a call goes to.
    pub fn target(&self) -> u32 {
        self.imm as u32
    }

    /// Where lanes that a branch parts meet again; [`NO_MEETING`] if only at the end.
    pub fn meeting(&self) -> u32 {
        (self.imm >> 32) as u32
    }
}

/// The reconvergence point of lanes that never meet again.
pub(crate) const NO_MEETING: u32 = u32::MAX;
