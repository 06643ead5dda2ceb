//! The contract line by line, in scalar Rust without SIMD: the path that any processor runs.

pub(crate) mod exp;
pub(crate) mod faults;
pub(crate) mod fma;
mod partial;
mod reduce;
mod rules;

use half::f16;

use crate::block::{Block, HeadPartial};
use faults::Fault;
use rules::{Rules, WithRules};

/// An element that widens to f32 exactly.
pub(crate) trait Widen: Copy + Send + Sync {
    fn widen(self) -> f32;
}

impl Widen for f32 {
    fn widen(self) -> f32 {
        self
    }
}

impl Widen for f16 {
    fn widen(self) -> f32 {
        // The `const` form is the one that never takes a processor's instruction.
        self.to_f32_const()
    }
}

/// Runs the partial kernel's block, with a planted fault or with none.
pub(crate) fn partial<T: Widen>(block: &Block<'_, T>, out: &mut [HeadPartial<'_>], fault: Fault) {
    struct Run<'a, 'b, 'c, T>(&'a Block<'b, T>, &'a mut [HeadPartial<'c>]);
    impl<T: Widen> WithRules for Run<'_, '_, '_, T> {
        fn run<R: Rules>(self) {
            partial::block::<T, R>(self.0, self.1);
        }
    }
    fault.with_rules(Run(block, out));
}

/// Runs the reduce kernel for one query head, with a planted fault or with none.
pub(crate) fn reduce(m: &[f32], s: &[f32], acc: &[f32], out: &mut [f32], fault: Fault) {
    struct Run<'a>(&'a [f32], &'a [f32], &'a [f32], &'a mut [f32]);
    impl WithRules for Run<'_> {
        fn run<R: Rules>(self) {
            reduce::head::<R>(self.0, self.1, self.2, self.3);
        }
    }
    fault.with_rules(Run(m, s, acc, out));
}
