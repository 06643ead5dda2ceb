//! Runs PTX modules on a CPU, 32 lanes at a time, with the exact bits that the PTX ISA defines.
//!
//! [`Module::parse`] checks a text against one table of instruction forms and decodes it; [`launch`] runs an entry of
//! it over a [`Memory`]. Nothing is skipped silently: a form that is not in the table, or that has no exact definition
//! (in strict mode), is refused with its line; an access that is out of bounds, misaligned or reads what no one wrote
//! is a [`Fault`].

// Every instruction returns a trap or none: the box keeps the common case to one word.
#![allow(clippy::unnecessary_box_returns)]

mod ast;
mod cfg;
mod error;
mod exec;
mod fault;
mod fma;
mod forms;
mod launch;
mod lexer;
mod literal;
mod lower;
mod memory;
mod module;
mod parser;
mod profile;
mod program;
mod run;
mod soft;
mod suggest;
mod table;
mod trace;
mod types;

pub use error::PtxError;
pub use fault::{Fault, FaultKind};
pub use forms::{FormInfo, WordNeed, forms};
pub use launch::{Arg, LaunchConfig, LaunchError, LaunchStats, Path};
pub use memory::{AllocOptions, Memory, MemoryError};
pub use module::{Entry, Module, ParamInfo, RegisterCounts};
pub use profile::{LineProfile, Profile, Requests, SharedRequests};
pub use run::{launch, launch_watched};
pub use trace::{Trace, TraceStep, TraceValue, Watch};
pub use types::{Scalar, Space};

/// Largest source that is parsed, in bytes.
pub const MAX_SOURCE_BYTES: usize = 16 << 20;
