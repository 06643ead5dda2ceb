//! Decoded instructions: operands are slots of register files, branches are indices, modifiers are enums.

mod collective;
mod word;

use crate::ast::Special;
use crate::types::{Scalar, Space};

pub(crate) use collective::{AtomOp, BarrierVote, ReduxOp};
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

/// Integer types that the executor tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Int {
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl Int {
    /// The integer reading of a type; bits read as unsigned.
    pub fn of(ty: Scalar) -> Option<Int> {
        match ty {
            Scalar::U16 | Scalar::B16 => Some(Int::U16),
            Scalar::S16 => Some(Int::S16),
            Scalar::U32 | Scalar::B32 => Some(Int::U32),
            Scalar::S32 => Some(Int::S32),
            Scalar::U64 | Scalar::B64 => Some(Int::U64),
            Scalar::S64 => Some(Int::S64),
            _ => None,
        }
    }

    pub fn bits(self) -> u32 {
        match self {
            Int::U16 | Int::S16 => 16,
            Int::U32 | Int::S32 => 32,
            Int::U64 | Int::S64 => 64,
        }
    }

    pub fn is_signed(self) -> bool {
        matches!(self, Int::S16 | Int::S32 | Int::S64)
    }
}

/// Float formats that the executor tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Float {
    F16,
    Bf16,
    F32,
    F64,
    /// The 8-bit formats with 4 and with 5 bits of exponent.
    E4m3,
    E5m2,
    /// The upper 19 bits of an f32.
    Tf32,
}

impl Float {
    pub fn of(ty: Scalar) -> Option<Float> {
        match ty {
            Scalar::F16 | Scalar::F16x2 => Some(Float::F16),
            Scalar::Bf16 | Scalar::Bf16x2 => Some(Float::Bf16),
            Scalar::F32 | Scalar::F32x2 => Some(Float::F32),
            Scalar::F64 => Some(Float::F64),
            Scalar::E4m3x2 => Some(Float::E4m3),
            Scalar::E5m2x2 => Some(Float::E5m2),
            Scalar::Tf32 => Some(Float::Tf32),
            _ => None,
        }
    }
}

/// Direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Round {
    /// To the nearest, ties to even.
    Nearest,
    /// To the nearest, ties away from zero.
    Away,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

impl Round {
    /// Reads `rn` and `rni` alike.
    pub fn from_word(word: &str) -> Option<Round> {
        match word {
            "rn" | "rni" => Some(Round::Nearest),
            "rna" => Some(Round::Away),
            "rz" | "rzi" => Some(Round::Zero),
            "rm" | "rmi" => Some(Round::Down),
            "rp" | "rpi" => Some(Round::Up),
            _ => None,
        }
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

/// What a memory operation or a fence orders besides itself. All but [`Order::Weak`] are strong: two of them that meet
/// on the same bytes do not race where their scopes include each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Nothing; the plain `ld` and `st`.
    Weak,
    /// Nothing, but strong: `.relaxed`, `.volatile`, and `atom` or `red` that say nothing else.
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    /// `fence.sc` and `membar`.
    Sc,
}

impl Order {
    pub fn is_strong(self) -> bool {
        self != Order::Weak
    }

    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcqRel | Order::Sc)
    }

    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcqRel | Order::Sc)
    }
}

/// The threads among which a strong operation or a fence orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Cta,
    /// Launches have no clusters here, so that each block is one of its own.
    Cluster,
    Gpu,
    Sys,
}

/// A load, a store, or the memory operand of an atomic operation.
///
/// An atomic operation is lowered to an op that carries an `Access` with `order` and `scope` from
/// `Lower::order` (`atom` and `red` without a word are relaxed at gpu scope), and is executed in
/// `exec::memory::for_groups`, as loads and stores are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub space: Space,
    pub ty: Scalar,
    pub order: Order,
    pub scope: Scope,
    /// `ld.global.nc`: what it reads may not be written by the same launch.
    pub non_coherent: bool,
    /// Parts of a vector, 1 for a scalar.
    pub count: u8,
    /// Bit `i`: the register of part `i` has 64 bits.
    pub wide: u8,
    /// Bit `i`: the register of part `i` has 16 bits.
    pub narrow: u8,
    /// The address register has 64 bits.
    pub wide_address: bool,
}

impl Access {
    /// A weak access of one value by a 64-bit address.
    pub fn plain(space: Space, ty: Scalar) -> Self {
        let wide = u8::from(ty.bytes() == 8);
        let (order, scope) = (Order::Weak, Scope::Cta);
        Self { space, ty, order, scope, non_coherent: false, count: 1, wide, narrow: 0, wide_address: true }
    }
}

/// A `cp.async`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AsyncCopy {
    /// 4, 8 or 16.
    pub bytes: u8,
    /// The address registers of destination and source have 64 bits.
    pub wide_to: bool,
    pub wide_from: bool,
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
    /// Parts to `d` from `[s4 + imm]`.
    Load(Access),
    /// Parts from `s` to `[s4 + imm]`.
    Store(Access),
    /// Old parts of `[s4 + imm]` to `d`, new ones made with `s` in their place.
    Atom(Access, AtomOp),
    IsSpace(Space),
    /// To `[s0 + low half of imm]` from `[s1 + high half of imm]`, reading `s2` bytes where given.
    AsyncCopy(AsyncCopy),
    AsyncCommit,
    /// Waits for all groups but the last `imm`.
    AsyncWait,
    AsyncWaitAll,
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
    Branch,
    /// `imm`: the list of targets in the low half, reconvergence point in the high half; which of them: `s0`.
    BranchIndexed,
    /// `imm`: where the function starts.
    Call,
    Return,
    Exit,
    Trap,
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

/// Where an instruction stands in the source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub line: u32,
    /// Byte range of its text.
    pub start: usize,
    pub end: usize,
}

/// A variable of the shared or local space, with its address there.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    pub align: u32,
}

/// Bytes that variables take when each follows the one before it as its alignment allows.
pub(crate) fn packed_bytes(placed: &[Placed]) -> u64 {
    placed.iter().fold(0, |end: u64, p| end.next_multiple_of(p.align.into()) + p.bytes)
}

/// What a function has of its own: it knows nothing of it when it is entered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Its registers, by file: of up to 32 bits, of 64, predicates.
    pub registers: [Vec<Slot>; 3],
    /// Addresses in local memory of its variables and results.
    pub stack: Vec<u64>,
}

/// A kernel, decoded.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub insts: Vec<Inst>,
    pub places: Vec<Place>,
    pub k32: Vec<V32>,
    pub k64: Vec<V64>,
    /// Sizes of the register files.
    pub count32: usize,
    pub count64: usize,
    pub count_pred: usize,
    /// 32-bit slots that hold a special register.
    pub specials: Vec<(Special, Slot)>,
    /// 64-bit slots that hold the address of a module's `.global` variable, by its index among those.
    pub globals: Vec<(u32, Slot)>,
    pub shared: Vec<Placed>,
    /// Address and name of the dynamic shared memory.
    pub dynamic_shared: Option<Placed>,
    pub local: Vec<Placed>,
    pub params: Vec<Placed>,
    /// The slot of each register of the text, where an instruction uses it: of the kernel, then of what it calls.
    pub registers: Vec<Vec<Option<Slot>>>,
    /// What each of them has of its own, the kernel first.
    pub own: Vec<Own>,
    /// What indexed branches choose from.
    pub targets: Vec<Vec<u32>>,
    /// Some instruction has no exact definition.
    pub approximate: bool,
}

impl Program {
    /// Whether it has strong accesses to global memory, with which blocks wait for each other.
    pub fn waits_for_blocks(&self) -> bool {
        self.insts
            .iter()
            .filter_map(|i| i.op.access())
            .any(|a| a.order.is_strong() && matches!(a.space, Space::Global | Space::Generic))
    }

    /// Bytes of the host that the registers and the local memory of one warp take.
    pub fn warp_bytes(&self) -> u64 {
        let registers = size_of::<V32>() * self.count32 + size_of::<V64>() * self.count64;
        registers as u64 + packed_bytes(&self.local) * LANES as u64
    }
}
