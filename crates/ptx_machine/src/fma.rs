//! Fused multiply-add by the host's instruction, or in software with the same bits.

use crate::program::{Float, Round};

/// How the host multiplies and adds with one rounding.
pub(crate) trait Fma {
    fn fma32(a: f32, b: f32, c: f32) -> f32;
    fn fma64(a: f64, b: f64, c: f64) -> f64;
}

/// The host's instruction. Without one the compiler calls the C library, which is slow and of unknown quality: use it
/// only where the instruction is known to be there.
#[derive(Debug)]
pub(crate) struct Native;

impl Fma for Native {
    #[inline(always)]
    fn fma32(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// Software.
#[derive(Debug)]
pub(crate) struct Portable;

impl Fma for Portable {
    /// The product of two f32 is exact in f64; their sum with `c`, rounded to odd in f64, rounds to f32 as the exact sum
    /// does, since f64 has more than two bits beyond f32 (Boldo and Melquiond, "Emulation of FMA and correctly rounded
    /// sums: proved algorithms using rounding to odd", 2008). This covers subnormal results too.
    #[inline(always)]
    fn fma32(a: f32, b: f32, c: f32) -> f32 {
        let (p, c) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = p + c;
        // What the addition lost, exactly (Knuth's two-sum).
        let t = sum - p;
        let lost = (p - (sum - t)) + (c - t);
        let bits = sum.to_bits();
        let inexact = lost != 0.0 && sum.is_finite();
        let grow = (lost > 0.0) == (sum > 0.0);
        let odd = if grow { bits | 1 } else { bits.wrapping_sub(1) | 1 };
        // An odd last bit is right already: the neighbour that the loss points to is even.
        let keep = !inexact || bits & 1 == 1;
        f64::from_bits(if keep { bits } else { odd }) as f32
    }

    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        let format = Float::F64.format();
        f64::from_bits(format.fma(a.to_bits(), b.to_bits(), c.to_bits(), Round::Nearest))
    }
}
