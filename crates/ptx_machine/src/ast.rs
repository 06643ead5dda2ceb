//! A module as the parser leaves it: names resolved, types known, instructions not yet held against the table.

use crate::literal::Immediate;
use crate::types::{Scalar, Space};

/// Index into [`Function::registers`].
pub(crate) type RegisterId = u32;

/// A module.
#[derive(Debug)]
pub(crate) struct Ast<'s> {
    /// `.version`, (major, minor).
    pub version: (u32, u32),
    pub target: Target,
    /// Variables at module scope.
    pub variables: Vec<Variable>,
    /// The kernels.
    pub functions: Vec<Function<'s>>,
    /// Every `.func` that is declared.
    pub callees: Vec<Callee<'s>>,
}

/// A `.func`.
#[derive(Debug)]
pub(crate) struct Callee<'s> {
    pub name: &'s str,
    /// Results and parameters.
    pub counts: (usize, usize),
    /// `None` where it is only declared.
    pub body: Option<Function<'s>>,
}

/// `.target sm_90a`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub name: String,
    pub sm: u32,
    /// `a` or `f`, or none.
    pub suffix: Option<char>,
}

/// A variable in memory.
#[derive(Debug, Clone)]
pub(crate) struct Variable {
    pub name: String,
    pub space: Space,
    pub align: u32,
    /// Size in bytes; 0 for `.extern .shared x[]`, whose size the launch says.
    pub bytes: u64,
    pub dynamic: bool,
    /// Initial bytes; empty where the text gives none.
    pub initial: Vec<u8>,
}

/// A parameter of a kernel or function, or a result of a function.
#[derive(Debug, Clone)]
pub(crate) struct Param<'s> {
    pub name: &'s str,
    pub ty: Scalar,
    /// Number of elements of an array.
    pub count: Option<u32>,
    pub align: u32,
}

/// A register that the body uses.
#[derive(Debug, Clone)]
pub(crate) struct Register<'s> {
    pub name: &'s str,
    pub ty: Scalar,
}

/// A kernel, or a function that kernels call.
#[derive(Debug)]
pub(crate) struct Function<'s> {
    pub name: String,
    pub line: u32,
    /// Parameters, then results.
    pub params: Vec<Param<'s>>,
    /// How many of them are parameters; all are those of a kernel.
    pub inputs: usize,
    pub is_entry: bool,
    pub max_threads: Option<u32>,
    pub required_threads: Option<[u32; 3]>,
    pub registers: Vec<Register<'s>>,
    /// Variables at function scope.
    pub variables: Vec<Variable>,
    pub instructions: Vec<Instruction<'s>>,
    /// Instruction that each label stands before (one past the last for a label at the end).
    pub labels: Vec<u32>,
    /// `.branchtargets`: indices into `labels`.
    pub targets: Vec<Vec<u32>>,
}

/// One instruction.
#[derive(Debug)]
pub(crate) struct Instruction<'s> {
    /// Predicate and whether it is negated.
    pub guard: Option<(RegisterId, bool)>,
    /// With all its dotted parts.
    pub mnemonic: &'s str,
    pub operands: Vec<Operand>,
    pub line: u32,
    /// The source from guard to semicolon.
    pub text: &'s str,
}

/// A variable or parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// Index into [`Ast::variables`].
    Module(u32),
    /// Index into [`Function::variables`].
    Local(u32),
    /// Index into [`Function::params`].
    Param(u32),
}

/// What an address counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    Register(RegisterId),
    Symbol(Symbol),
    /// A constant address.
    Zero,
}

/// An operand as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Register(RegisterId),
    /// `!%p1`.
    Not(RegisterId),
    Special(Special),
    Immediate(Immediate),
    /// The address of a variable, and a number added to it.
    Symbol(Symbol, i64),
    Address {
        base: Base,
        offset: i64,
    },
    Vector(Vec<Operand>),
    /// Index into [`Function::labels`].
    Label(u32),
    /// Index into [`Function::targets`].
    Targets(u32),
    /// Index into [`Ast::callees`].
    Function(u32),
    /// The arguments or results of a call, in ( ).
    List(Vec<Operand>),
    /// `_`: a result that no one wants.
    Sink,
    /// The part of `d|p` after the bar.
    Joined(Box<Operand>),
}

macro_rules! specials {
    ($($name:ident $word:literal),+ $(,)?) => {
        /// A special register that the machine has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Special { $($name),+ }

        impl Special {
            pub const ALL: &'static [(Special, &'static str)] = &[$((Special::$name, $word)),+];
        }
    };
}

specials! {
    TidX "%tid.x", TidY "%tid.y", TidZ "%tid.z",
    NtidX "%ntid.x", NtidY "%ntid.y", NtidZ "%ntid.z",
    CtaidX "%ctaid.x", CtaidY "%ctaid.y", CtaidZ "%ctaid.z",
    NctaidX "%nctaid.x", NctaidY "%nctaid.y", NctaidZ "%nctaid.z",
    Laneid "%laneid", Warpid "%warpid", Nwarpid "%nwarpid",
    LanemaskEq "%lanemask_eq", LanemaskLt "%lanemask_lt", LanemaskLe "%lanemask_le",
    LanemaskGt "%lanemask_gt", LanemaskGe "%lanemask_ge",
    DynamicSmemSize "%dynamic_smem_size", TotalSmemSize "%total_smem_size",
    ClusteridX "%clusterid.x", ClusteridY "%clusterid.y", ClusteridZ "%clusterid.z",
    NclusteridX "%nclusterid.x", NclusteridY "%nclusterid.y", NclusteridZ "%nclusterid.z",
    ClusterCtaidX "%cluster_ctaid.x", ClusterCtaidY "%cluster_ctaid.y", ClusterCtaidZ "%cluster_ctaid.z",
    ClusterNctaidX "%cluster_nctaid.x", ClusterNctaidY "%cluster_nctaid.y", ClusterNctaidZ "%cluster_nctaid.z",
    ClusterCtarank "%cluster_ctarank", ClusterNctarank "%cluster_nctarank",
    Smid "%smid", Nsmid "%nsmid",
    Clock "%clock", ClockHi "%clock_hi", GlobaltimerLo "%globaltimer_lo", GlobaltimerHi "%globaltimer_hi",
    Clock64 "%clock64", Globaltimer "%globaltimer", Gridid "%gridid",
}

impl Special {
    /// Whether it differs from run to run, or from device to device.
    pub fn varies(self) -> bool {
        self.is_clock() || matches!(self, Self::Smid | Self::Nsmid | Self::Gridid | Self::ClockHi | Self::GlobaltimerHi)
    }

    /// Whether it rises while a kernel runs.
    pub fn is_clock(self) -> bool {
        matches!(self, Self::Clock | Self::GlobaltimerLo | Self::Clock64 | Self::Globaltimer)
    }

    pub fn bits(self) -> u32 {
        if matches!(self, Self::Clock64 | Self::Globaltimer | Self::Gridid) { 64 } else { 32 }
    }

    /// The special register that a register of this name would hide: with `%tid` declared, `%tid.x` is part of that.
    pub fn hidden_by(name: &str) -> Option<&'static str> {
        Self::ALL.iter().map(|(_, word)| *word).find(|word| word.split('.').next() == Some(name))
    }

    /// The special register that `word` names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == word).map(|(special, _)| *special)
    }
}
