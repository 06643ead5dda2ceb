//! The software FMA rounds once.

mod support;

use cpu_twin::software_fma;
use proptest::prelude::*;
use support::{Random, same};

/// The instruction, where this processor has it.
#[cfg(target_arch = "x86_64")]
fn hardware(a: f32, b: f32, c: f32) -> Option<f32> {
    use std::arch::x86_64::{_mm_cvtss_f32, _mm_fmadd_ss, _mm_set_ss};

    #[target_feature(enable = "fma")]
    fn instruction(a: f32, b: f32, c: f32) -> f32 {
        _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c)))
    }

    // SAFETY: the feature was found on this processor.
    is_x86_feature_detected!("fma").then(|| unsafe { instruction(a, b, c) })
}

#[cfg(target_arch = "aarch64")]
fn hardware(a: f32, b: f32, c: f32) -> Option<f32> {
    Some(a.mul_add(b, c))
}

#[track_caller]
fn check(a: f32, b: f32, c: f32) {
    let Some(expected) = hardware(a, b, c) else { return };
    let found = software_fma(a, b, c);
    assert!(same(found, expected), "fma({a:e}, {b:e}, {c:e}) = {found:e}, the instruction says {expected:e}");
}

#[test]
fn results_worked_out_by_hand() {
    let ulp = f32::EPSILON;
    for (a, b, c, expected) in [
        // (1 + u)² - 1 = 2u + u²: lost altogether if the product is rounded first.
        (1.0 + ulp, 1.0 + ulp, -1.0, 2.0 * ulp + ulp * ulp),
        // Exactly between 1 and 1 + u, then pushed up or down by far less than f64 can hold: a second rounding would
        // see a tie.
        (ulp / 2.0, 1.0 + ulp, 1.0, 1.0 + ulp),
        (f32::MIN_POSITIVE, 2.0_f32.powi(-20), 1.0, 1.0),
        (-f32::MIN_POSITIVE, 2.0_f32.powi(-20), 1.0 + ulp, 1.0 + ulp),
        // Zeros.
        (0.0, 1.0, -0.0, 0.0),
        (-0.0, 1.0, -0.0, -0.0),
        (1.0, 1.0, -1.0, 0.0),
        // The last denormal, its half (a tie to even), and three quarters of it.
        (f32::from_bits(1), 1.0, 0.0, f32::from_bits(1)),
        (f32::from_bits(1), 0.5, 0.0, 0.0),
        (f32::from_bits(1), 0.75, 0.0, f32::from_bits(1)),
        // Overflow, and a product past the largest f32 that the addend brings back.
        (f32::MAX, 2.0, 0.0, f32::INFINITY),
        (f32::MAX, 2.0, -f32::MAX, f32::MAX),
        (f32::INFINITY, 1.0, f32::MAX, f32::INFINITY),
    ] {
        let found = software_fma(a, b, c);
        assert_eq!(found.to_bits(), expected.to_bits(), "fma({a:e}, {b:e}, {c:e}) = {found:e}");
    }
    for (a, b, c) in [(f32::NAN, 1.0, 1.0), (0.0, f32::INFINITY, 1.0), (f32::INFINITY, 1.0, f32::NEG_INFINITY)] {
        assert!(software_fma(a, b, c).is_nan());
    }
}

#[test]
fn an_addend_far_below_decides_a_tie() {
    // Products of two 13-bit numbers in [1, 2) have up to 25 bits, so many lie on a tie of f32; an addend that f64 cannot
    // hold beside them says on which side the exact sum is. Rounding twice would always go to even.
    let mut random = Random::new(11);
    let tiny = 2.0_f32.powi(-60);
    for _ in 0..200_000 {
        let mut factor = || 1.0 + random.below(1 << 12) as f32 * 2.0_f32.powi(-12);
        let (a, b) = (factor(), factor());
        for (a, c) in [(a, tiny), (a, -tiny), (-a, tiny), (-a, -tiny), (a, f32::MIN_POSITIVE)] {
            check(a, b, c);
        }
    }
}

#[test]
fn any_bits_and_nearby_exponents() {
    let mut random = Random::new(12);
    for _ in 0..1_000_000 {
        let mut any = || f32::from_bits(random.bits());
        let (a, b, c) = (any(), any(), any());
        check(a, b, c);
        // An addend within some binades of the product, where cancellation and ties are.
        let exponent = (random.below(60) as i32 - 30).clamp(-126, 127);
        check(a, b, -(a * b) * 2.0_f32.powi(exponent) * (1.0 + c.abs().fract()));
        check(a, b, -(a * b));
        check(a, 2.0_f32.powi(exponent), c);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(50_000) })]

    #[test]
    fn any_numbers(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
        check(a, b, c);
    }
}
