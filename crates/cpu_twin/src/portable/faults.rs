//! Planted faults: what a broken kernel would compute, to show that a comparison with the twin can fail.
//!
//! Adding one takes one row of the list at the end of this file: variant, name, description, and the rules it breaks.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use super::exp::exp;
use super::rules::{Contract, Rules, WithRules, xor_tree};
use crate::TwinError;
use crate::constants::LANES;

macro_rules! faults {
    ($($variant:ident = $name:literal, $summary:literal, { $($broken:item)* })*) => {
        /// A fault that the portable path can be given.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub enum Fault {
            /// The contract, unbroken.
            #[default]
            None,
            $(#[doc = $summary] $variant,)*
        }

        $(
            #[derive(Debug)]
            struct $variant;
            impl Rules for $variant { $($broken)* }
        )*

        impl Fault {
            /// Every fault, without [`Fault::None`].
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its word.
            pub fn name(self) -> &'static str {
                match self { Self::None => "none", $(Self::$variant => $name),* }
            }

            /// What goes wrong, in one line.
            pub fn summary(self) -> &'static str {
                match self { Self::None => "the contract, unbroken", $(Self::$variant => $summary),* }
            }

            pub(crate) fn with_rules(self, work: impl WithRules) {
                match self {
                    Self::None => work.run::<Contract>(),
                    $(Self::$variant => work.run::<$variant>()),*
                }
            }
        }
    };
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fault {
    type Err = TwinError;

    fn from_str(word: &str) -> Result<Self, TwinError> {
        let mut known = std::iter::once(&Self::None).chain(Self::ALL);
        known.clone().find(|fault| fault.name() == word).copied().ok_or_else(|| {
            let names: Vec<&str> = known.by_ref().map(|fault| fault.name()).collect();
            TwinError::new("fault", format_args!("{word:?}"), names.join(", "))
        })
    }
}

faults! {
    DropLastKey = "drop-last-key", "the last key of the context is left out", {
        fn live_keys(keys: Range<usize>, kv_len: usize) -> Range<usize> {
            keys.start..keys.end.min(kv_len - 1)
        }
    }

    WrongMergeBase = "wrong-merge-base", "warps merge as if each warp's own maximum were the block's", {
        fn warp_factors(maxima: &[f32], _largest: f32) -> Vec<f32> {
            maxima.iter().map(|own| exp(own - *own)).collect()
        }
    }

    WrongSplitBase = "wrong-split-base", "splits merge as if each split's own maximum were the head's", {
        fn split_factors(maxima: &[f32], _largest: f32) -> Vec<f32> {
            maxima.iter().map(|own| exp(own - *own)).collect()
        }
    }

    ValuesNotMasked = "v-not-masked", "a masked row brings the V that lies in memory there, with its weight of 0", {
        fn masks_values() -> bool {
            false
        }
    }

    SwappedGroupIndex = "swapped-group-index", "the query of head `g * num_kv_heads + n` is taken for member g of KV head n", {
        fn query_head(kv_head: usize, member: usize, _group_size: usize, num_kv_heads: usize) -> usize {
            member * num_kv_heads + kv_head
        }
    }

    ReorderedMerge = "reordered-merge", "splits merge in reverse order", {
        fn split_in_place(place: usize, count: usize) -> usize {
            count - 1 - place
        }
    }

    ReorderedWarps = "reordered-warps", "warps merge in reverse order", {
        fn warp_in_place(place: usize, count: usize) -> usize {
            count - 1 - place
        }
    }

    UnfusedFma = "unfused-fma", "each product is rounded before it is added", {
        fn fma(a: f32, b: f32, c: f32) -> f32 {
            a * b + c
        }
    }

    MissedRescale = "missed-rescale", "accumulators are not multiplied when a maximum moves", {
        fn rescale_factor(_old: f32, _new: f32) -> f32 {
            1.0
        }
    }

    WrongLaneTree = "wrong-lane-tree", "the lanes of a score are summed by the xor tree 1, 2, 4, 8, 16", {
        fn lane_sum(lanes: [f32; LANES]) -> f32 {
            xor_tree(lanes, [1, 2, 4, 8, 16])
        }
    }
}
