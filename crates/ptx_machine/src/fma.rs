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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Fma, Native, Portable};
    use crate::program::{Float, Round};

    /// Floats whose sums cancel, tie and underflow often: few significant bits, and exponents close to each other.
    fn close(bits: u64, format_bits: u32, mantissa: u32, middle: u64) -> u64 {
        let sign = bits & 1 << (format_bits - 1);
        let exponent = middle - 4 + (bits >> 8 & 7);
        let fraction = bits >> 11 & ((1 << mantissa) - 1);
        // Some with only high bits, some with only low ones.
        let fraction = match bits & 3 {
            0 => fraction & !((1 << (mantissa - 4)) - 1),
            1 => fraction & 15,
            _ => fraction,
        };
        sign | exponent << mantissa | fraction
    }

    fn same32(x: f32, y: f32) -> bool {
        x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
    }

    fn check32(bits: [u32; 3]) {
        let [a, b, c] = bits.map(f32::from_bits);
        let portable = Portable::fma32(a, b, c);
        let [x, y, z] = bits.map(u64::from);
        let soft = f32::from_bits(Float::F32.format().fma(x, y, z, Round::Nearest) as u32);
        assert!(same32(portable, soft), "{bits:x?}: {portable:e}, in integers {soft:e}");
        assert!(same32(portable, Native::fma32(a, b, c)), "{bits:x?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn three_ways_to_one_f32(bits in any::<[u32; 3]>(), seeds in any::<[u64; 3]>(), middle in prop::sample::select(&[8u64, 70, 127, 190, 240])) {
            check32(bits);
            let [a, b, c] = seeds;
            // The addend is of about the product's size.
            let product = (2 * middle).saturating_sub(127).clamp(5, 250);
            check32([close(a, 32, 23, middle), close(b, 32, 23, middle), close(c, 32, 23, product)].map(|x| x as u32));
        }

        #[test]
        fn two_ways_to_one_f64(bits in any::<[u64; 3]>(), seeds in any::<[u64; 3]>(), middle in prop::sample::select(&[8u64, 520, 1023, 1500, 2000])) {
            let [a, b, c] = seeds;
            let product = (2 * middle).saturating_sub(1023).clamp(5, 2040);
            for bits in [bits, [close(a, 64, 52, middle), close(b, 64, 52, middle), close(c, 64, 52, product)]] {
                let [x, y, z] = bits.map(f64::from_bits);
                let (soft, native) = (Portable::fma64(x, y, z), Native::fma64(x, y, z));
                prop_assert!(soft.to_bits() == native.to_bits() || (soft.is_nan() && native.is_nan()), "{bits:x?}: {soft:e}, host {native:e}");
            }
        }
    }
}
