//! The CPU twin: the numeric contract `splitk/1` (`docs/contract.md`), written in Rust without a look at any kernel.
//!
//! It computes the very bits that every kernel must: [`decode`] for the output, [`partial`] and [`reduce`] for the two
//! kernels apart, [`exp`] for the exponential of section 4. Two implementations share nothing but the constants:
//!
//! * `simd`: AVX2, FMA and F16C intrinsics, found at run time;
//! * `portable`: the contract line by line in scalar Rust, with fused multiply-adds in exact software (or the
//!   instruction, where the architecture always has one). It also carries the planted faults ([`Fault`]) that show that
//!   a comparison against the twin can fail.
//!
//! Both run on as many threads as asked for; the number of threads never changes a bit.

mod block;
mod constants;
mod decode;
mod error;
mod options;
mod portable;
mod view;

#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(not(target_arch = "x86_64"))]
#[path = "simd_absent.rs"]
mod simd;

pub use decode::{Partials, PartialsView, decode, exp, partial, reduce};
pub use error::TwinError;
pub use options::{Options, Path, simd_available};
pub use portable::faults::Fault;
pub use portable::fma::software_fma;
pub use view::{Inputs, KvElements, KvView, QueryView};
