//! The machine against definitions written down a second time: every instruction family on edge values, on both paths.

mod agreement;
mod arithmetic;
mod atomics;
mod barriers;
mod bits;
mod compare;
mod convert;
mod corpus;
mod divergence;
mod extremes;
mod faults;
mod floats;
mod formats;
mod functions;
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;
mod harness;
mod meeting;
mod memory;
mod modules;
mod pairs;
mod policies;
mod properties;
mod races;
mod refusals;
mod shuffles;
mod soundness;
mod uniform;
mod unknown;
mod watched;
mod words;
