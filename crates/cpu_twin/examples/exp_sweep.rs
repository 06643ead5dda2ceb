//! The exponential of the contract over every f32 in [-87, -0], against `f64::exp`.
//!
//! `cargo run --release -p cpu_twin --example exp_sweep [auto|portable [threads]]`
//!
//! `f64::exp` is within one unit of its own last place, 2^-29 of an f32's: far less than the digits printed. An argument
//! whose exact value lies that close to a tie could be counted as misrounded, or not, by mistake.

use std::error::Error;
use std::time::Instant;

use cpu_twin::{Options, Path, exp};
use rayon::prelude::*;

const FIRST: u32 = 0x8000_0000;
const LAST: u32 = 0xC2AE_0000;
const BLOCK: u32 = 1 << 16;

/// What a range of arguments shows.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    count: u64,
    worst_ulp: f64,
    worst_at: u32,
    over_one_ulp: u64,
    misrounded: u64,
    above_one: u64,
}

impl Found {
    fn add(mut self, x: f32, y: f32) -> Self {
        let exact = f64::from(x).exp();
        // One unit in the last place of the f32 binade that the exact value lies in, from the exponent of the f64.
        let unit = f64::from_bits((exact.to_bits() & 0x7FF0_0000_0000_0000) - (23 << 52));
        let error = (f64::from(y) - exact).abs() / unit;
        if error > self.worst_ulp {
            (self.worst_ulp, self.worst_at) = (error, x.to_bits());
        }
        self.count += 1;
        self.over_one_ulp += u64::from(error > 1.0);
        self.misrounded += u64::from(y != exact as f32);
        self.above_one += u64::from(y > 1.0);
        self
    }

    fn merge(self, other: Self) -> Self {
        let worst = if other.worst_ulp > self.worst_ulp { other } else { self };
        Self {
            count: self.count + other.count,
            worst_ulp: worst.worst_ulp,
            worst_at: worst.worst_at,
            over_one_ulp: self.over_one_ulp + other.over_one_ulp,
            misrounded: self.misrounded + other.misrounded,
            above_one: self.above_one + other.above_one,
        }
    }
}

fn sweep_block(start: u32, options: &Options) -> Found {
    let x: Vec<f32> = (start..=LAST.min(start + (BLOCK - 1))).map(f32::from_bits).collect();
    let y = exp(&x, options).expect("arguments of at most 0");
    x.iter().zip(&y).fold(Found::default(), |found, (&x, &y)| found.add(x, y))
}

fn main() -> Result<(), Box<dyn Error>> {
    let path: Path = std::env::args().nth(1).as_deref().unwrap_or("auto").parse()?;
    let threads: usize = std::env::args().nth(2).as_deref().unwrap_or("0").parse()?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let options = Options { path, ..Options::default() };
    let start = Instant::now();
    let blocks = (LAST - FIRST) / BLOCK + 1;
    let found = (0..blocks)
        .into_par_iter()
        .map(|block| sweep_block(FIRST + block * BLOCK, &options))
        .reduce(Found::default, Found::merge);

    let at = f32::from_bits(found.worst_at);
    println!("arguments        {} (every f32 in [-87, -0]), {path} path", found.count);
    println!("maximum error    {:.4} ULP, at {at:e} (0x{:08X})", found.worst_ulp, found.worst_at);
    println!("over 1 ULP       {}", found.over_one_ulp);
    println!("misrounded       {}", found.misrounded);
    println!("greater than 1   {}", found.above_one);
    println!("seconds          {:.1}", start.elapsed().as_secs_f64());
    Ok(())
}
