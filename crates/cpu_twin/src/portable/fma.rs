//! Fused multiply-add with one rounding, without the instruction.

/// `a · b + c` with one rounding: the instruction where the architecture always has it, exact software elsewhere.
///
/// `f32::mul_add` alone will not do: where the target lacks the instruction it calls a C library, and not every one of
/// them rounds correctly.
#[inline]
pub(crate) fn fma(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(target_arch = "aarch64") { a.mul_add(b, c) } else { software_fma(a, b, c) }
}

/// `a · b + c` with one rounding, in software: the same bits as an FMA instruction (but for the payload of a NaN).
///
/// The product of two f32 is exact in f64. The sum is rounded to odd, which keeps it on the right side of every f32 tie,
/// so that the conversion to f32 is the only rounding that counts; 53 bits are enough for that, being at least 24 + 2
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE
/// Transactions on Computers 57(4), 2008). What the sum lost comes from Knuth's two-sum, which is exact.
#[inline]
pub fn software_fma(a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let addend = f64::from(c);
    let sum = product + addend;
    let back = sum - product;
    let lost = (product - (sum - back)) + (addend - back);

    let bits = sum.to_bits();
    // With an infinity or a NaN about, `lost` is NaN and there is nothing to round.
    let to_odd = lost != 0.0 && sum.is_finite() && bits & 1 == 0;
    // A sum of 0 is exact, so `sum` has a neighbour on either side; away from zero is one up in the bit pattern.
    let away = (lost > 0.0) == (sum > 0.0);
    let neighbour = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if to_odd { neighbour } else { bits }) as f32
}
