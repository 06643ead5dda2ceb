//! For how many f32 in [-87, -0] a small fault in the contract's exponential shows: one unit in the last place of a
//! constant, or a product that is rounded before it is added.
//!
//! `cargo run --release -p cpu_twin --example exp_sensitivity` (minutes; `RUSTFLAGS='-C target-cpu=native'` makes them few)
//!
//! It has the definition (contract, section 4) once more, with its constants as an argument. A fault that shows nowhere
//! is no fault: `diffcheck mutants` counts such mutants as equivalent. The others name arguments that show them.

use rayon::prelude::*;

const FIRST: u32 = 0x8000_0000;
const LAST: u32 = 0xC2AE_0000;
const BLOCK: u32 = 1 << 16;
const NAMES: [&str; 11] = ["LOG2E", "MAGIC", "-LN2_HI", "-LN2_LO", "C6", "C5", "C4", "C3", "C2", "first 1", "last 1"];
const BITS: [u32; 11] = [
    0x3FB8_AA3B,
    0x4B40_0000,
    0xBF31_7218,
    0x3102_E308,
    0x3AB5_1E84,
    0x3C09_1C2B,
    0x3D2A_AC5F,
    0x3E2A_AA4A,
    0x3EFF_FFFE,
    0x3F80_0000,
    0x3F80_0000,
];
const NONE: usize = usize::MAX;

/// The exponential with other constants; the product that belongs to the constant `unfused` is rounded by itself.
#[inline]
fn exp(x: f32, bits: &[u32; 11], unfused: usize) -> u32 {
    let c = |at: usize| f32::from_bits(bits[at]);
    let fma = |at: usize, a: f32, b: f32, addend: f32| {
        if at == unfused { a * b + addend } else { a.mul_add(b, addend) }
    };
    let t = fma(0, x, c(0), c(1));
    let n = t - c(1);
    let r = fma(2, n, c(2), x);
    let r = fma(3, n, c(3), r);
    let p = (5..11).fold(c(4), |p, at| fma(at, p, r, c(at)));
    p.to_bits().wrapping_add(t.to_bits() << 23)
}

/// How many arguments show a fault, and the first of them.
fn sweep(bits: [u32; 11], unfused: usize) -> (u64, Option<u32>) {
    let blocks = (LAST - FIRST) / BLOCK + 1;
    (0..blocks)
        .into_par_iter()
        .map(|block| {
            let start = FIRST + block * BLOCK;
            let shows = |&at: &u32| {
                let x = f32::from_bits(at);
                exp(x, &bits, unfused) != exp(x, &BITS, NONE)
            };
            let mut found = (start..=LAST.min(start + (BLOCK - 1))).filter(shows);
            let first = found.next();
            (u64::from(first.is_some()) + found.count() as u64, first)
        })
        .reduce(|| (0, None), |a, b| (a.0 + b.0, a.1.or(b.1)))
}

fn main() {
    println!("arguments that show it, of {}", LAST - FIRST + 1);
    for (at, name) in NAMES.iter().enumerate() {
        for by in [1_i32, -1] {
            let mut bits = BITS;
            bits[at] = bits[at].wrapping_add_signed(by);
            report(&format!("{name} {by:+}"), sweep(bits, NONE));
        }
    }
    for at in [0, 2, 3, 5, 6, 7, 8, 9, 10] {
        report(&format!("product at {} rounded", NAMES[at]), sweep(BITS, at));
    }
}

fn report(fault: &str, (count, first): (u64, Option<u32>)) {
    let example = first.map(|bits| format!(", first {:e} (0x{bits:08X})", f32::from_bits(bits)));
    println!("{fault:<26}{count:>11}{}", example.unwrap_or_default());
}
