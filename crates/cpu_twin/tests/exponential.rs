//! The stated facts about `E(x)`, on both paths.

mod support;

use cpu_twin::{Path, exp};
use support::{assert_same, on};

/// Bits of -87, the last argument that is not cut off.
const LAST: u32 = 0xC2AE_0000;
/// Bits of -0.
const FIRST: u32 = 0x8000_0000;
const STATED_MAX_ULP: f64 = 0.8914;

/// `E` of each bit pattern, after a check that both paths agree.
fn both(bits: impl Iterator<Item = u32>) -> Vec<(f32, f32)> {
    let x: Vec<f32> = bits.map(f32::from_bits).collect();
    let portable = exp(&x, &on(Path::Portable)).expect("arguments of at most 0");
    assert_same("E", &exp(&x, &on(Path::Auto)).expect("arguments of at most 0"), &portable);
    x.into_iter().zip(portable).collect()
}

/// Distance from the exact value in units of its last place.
fn ulp_error(x: f32, y: f32) -> f64 {
    let exact = f64::from(x).exp();
    // The exponent of f64 bits is that of the f32 too, as no exact value here is denormal.
    let exponent = (exact.to_bits() >> 52) as i32 - 1023;
    (f64::from(y) - exact).abs() / f64::from(exponent - 23).exp2()
}

fn check(values: &[(f32, f32)]) -> f64 {
    let mut worst = 0.0_f64;
    for &(x, y) in values {
        assert!(y > 0.0 && y <= 1.0 && y.is_normal(), "E({x:e}) = {y:e}");
        let error = ulp_error(x, y);
        assert!(error <= STATED_MAX_ULP, "E({x:e}) = {y:e}, {error} ULP");
        worst = worst.max(error);
    }
    worst
}

#[test]
fn exact_values() {
    let x = [0.0, -0.0, f32::NEG_INFINITY, f32::MIN, -88.0, f32::from_bits(LAST + 1)];
    for path in [Path::Auto, Path::Portable] {
        let y = exp(&x, &on(path)).expect("arguments of at most 0");
        assert_same("E", &y, &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }
}

#[test]
fn nan_stays_nan() {
    for bits in [0x7FC0_0000, 0xFFC0_0000, 0x7F80_0001, 0xFFFF_FFFF_u32] {
        for path in [Path::Auto, Path::Portable] {
            // Nine of them, so that vectors and what is left over are both met.
            let y = exp(&[f32::from_bits(bits); 9], &on(path)).expect("NaN is allowed");
            assert!(y.iter().all(|y| y.is_nan()));
        }
    }
}

#[test]
fn positive_arguments_are_refused() {
    let error = exp(&[-1.0, 0.0, 1e-30], &on(Path::Auto)).expect_err("a refusal").to_string();
    assert_eq!(error, "x is 0.000000000000000000000000000001 at index 2; allowed: at most 0, or NaN");
}

#[test]
fn a_strided_sweep_stays_within_the_stated_error() {
    // A prime stride meets every binade at shifting places; the whole sweep is an example of its own.
    let worst = check(&both((FIRST..=LAST).step_by(1_499)));
    assert!(worst > 0.8, "the error is measured: the worst of these arguments has more than {worst}");
}

#[test]
fn neighbours_of_every_range_reduction_boundary() {
    for half_steps in 0..=251_i32 {
        let boundary = -f64::from(half_steps) * std::f64::consts::LN_2 / 2.0;
        let bits = (boundary as f32).to_bits() | FIRST;
        let last = (bits + 200).min(LAST);
        check(&both((bits.saturating_sub(200)).clamp(FIRST, last)..=last));
    }
}
