//! Float arithmetic: to the nearest against the host's IEEE arithmetic, in other directions by comparing the neighbours
//! with the exact result, f16 by exact integers.

use std::cmp::Ordering;

use crate::harness::{B16, B32, B64, F32, F64, check, product};

const NAN: u64 = 0x7fff_ffff;

/// ±0, subnormal, smallest normal, halfway and rounding cases, huge, infinite, NaN (quiet, signalling).
pub const F32_EDGES: &[u64] = &[
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x0000_0003,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x1a00_0000,
    0x3380_0000,
    0x3380_0001,
    0x3400_0000,
    0x3dcc_cccd,
    0xbdcc_cccd,
    0x3eaa_aaab,
    0x3f00_0000,
    0x3f7f_ffff,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0001,
    0xbf80_0001,
    0x3fff_ffff,
    0x4040_0000,
    0x4b7f_ffff,
    0x4b80_0000,
    0x4b80_0001,
    0x5f00_0000,
    0x64c0_ffee,
    0x7f00_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0xffc1_2345,
];

const ROUNDS: [&str; 4] = ["rn", "rz", "rm", "rp"];

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn canonical(x: f32) -> u64 {
    if x.is_nan() { NAN } else { x.to_bits().into() }
}

/// An exact number as the sum of two f64.
type Exact = (f64, f64);

/// The sum of two f64, exactly (Knuth).
fn two_sum(a: f64, b: f64) -> Exact {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

fn compare(x: f32, exact: Exact) -> Ordering {
    if x.is_infinite() {
        return x.partial_cmp(&0.0).unwrap();
    }
    // The difference of a number and its own rounding is exact.
    (f64::from(x) - exact.0).partial_cmp(&exact.1).unwrap()
}

/// The nearest number moved to the side that the rounding asks for; `order` is that number against the exact result.
fn directed(nearest: f32, order: Ordering, round: &str) -> f32 {
    match (round, order) {
        ("rz", Ordering::Greater) if nearest > 0.0 => nearest.next_down(),
        ("rz", Ordering::Less) if nearest < 0.0 => nearest.next_up(),
        ("rm", Ordering::Greater) => nearest.next_down(),
        ("rp", Ordering::Less) => nearest.next_up(),
        _ => nearest,
    }
}

/// An exact zero that is the sum of numbers with different signs.
fn zero_sum(round: &str) -> f32 {
    if round == "rm" { -0.0 } else { 0.0 }
}

fn sum(a: f64, b: f64, nearest: f32, round: &str) -> f32 {
    let exact = two_sum(a, b);
    if !a.is_finite() || !b.is_finite() {
        nearest
    } else if exact == (0.0, 0.0) && a.is_sign_positive() != b.is_sign_positive() {
        zero_sum(round)
    } else {
        directed(nearest, compare(nearest, exact), round)
    }
}

fn add(a: f32, b: f32, round: &str) -> f32 {
    sum(a.into(), b.into(), a + b, round)
}

fn mul(a: f32, b: f32, round: &str) -> f32 {
    let exact = f64::from(a) * f64::from(b);
    if exact.is_finite() { directed(a * b, compare(a * b, (exact, 0.0)), round) } else { a * b }
}

fn fma(a: f32, b: f32, c: f32, round: &str) -> f32 {
    sum(f64::from(a) * f64::from(b), c.into(), a.mul_add(b, c), round)
}

fn div(a: f32, b: f32, round: &str) -> f32 {
    let q = a / b;
    if !a.is_finite() || !b.is_finite() || b == 0.0 {
        return q;
    }
    // q > a/b exactly when q·b is beyond a on b's side. A quotient that overflowed is beyond it for certain.
    let order = if q.is_infinite() {
        q.partial_cmp(&0.0).unwrap()
    } else {
        let order = (f64::from(q) * f64::from(b)).partial_cmp(&a.into()).unwrap();
        if b < 0.0 { order.reverse() } else { order }
    };
    directed(q, order, round)
}

fn sqrt(a: f32, round: &str) -> f32 {
    let root = a.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root;
    }
    directed(root, (f64::from(root) * f64::from(root)).partial_cmp(&a.into()).unwrap(), round)
}

#[test]
fn f32_in_every_rounding() {
    let pairs = product(&[F32_EDGES, F32_EDGES]);
    let singles = product(&[F32_EDGES]);
    for round in ROUNDS {
        let two = |op: &str| format!("{op}.{round}.f32 %out, %a, %b;");
        check(&two("add"), F32, &[F32; 2], &pairs, |r| canonical(add(f(r[0]), f(r[1]), round)));
        check(&two("sub"), F32, &[F32; 2], &pairs, |r| canonical(add(f(r[0]), -f(r[1]), round)));
        check(&two("mul"), F32, &[F32; 2], &pairs, |r| canonical(mul(f(r[0]), f(r[1]), round)));
        check(&two("div"), F32, &[F32; 2], &pairs, |r| canonical(div(f(r[0]), f(r[1]), round)));
        let one = |op: &str| format!("{op}.{round}.f32 %out, %a;");
        check(&one("sqrt"), F32, &[F32], &singles, |r| canonical(sqrt(f(r[0]), round)));
        check(&one("rcp"), F32, &[F32], &singles, |r| canonical(div(1.0, f(r[0]), round)));
    }
}

#[test]
fn f32_fma_rounds_once() {
    let triples = product(&[F32_EDGES, F32_EDGES, F32_EDGES]);
    for round in ROUNDS {
        let line = format!("fma.{round}.f32 %out, %a, %b, %c;");
        check(&line, F32, &[F32; 3], &triples, |r| canonical(fma(f(r[0]), f(r[1]), f(r[2]), round)));
    }
}

#[test]
fn min_and_max_ignore_nan_unless_told_and_order_zeros() {
    let pairs = product(&[F32_EDGES, F32_EDGES]);
    // An order in which -0 is below +0.
    let key = |x: f32| (x.to_bits() as i32) ^ (((x.to_bits() as i32) >> 31) as u32 >> 1) as i32;
    let pick = |r: &[u64], larger: bool, keep_nan: bool| {
        let (a, b) = (f(r[0]), f(r[1]));
        match (a.is_nan(), b.is_nan()) {
            (true, true) => NAN,
            (true, _) | (_, true) if keep_nan => NAN,
            (true, _) => r[1],
            (_, true) => r[0],
            _ => {
                if (key(a) >= key(b)) == larger {
                    r[0]
                } else {
                    r[1]
                }
            }
        }
    };
    check("max.f32 %out, %a, %b;", F32, &[F32; 2], &pairs, |r| pick(r, true, false));
    check("min.f32 %out, %a, %b;", F32, &[F32; 2], &pairs, |r| pick(r, false, false));
    check("max.NaN.f32 %out, %a, %b;", F32, &[F32; 2], &pairs, |r| pick(r, true, true));
    check("min.NaN.f32 %out, %a, %b;", F32, &[F32; 2], &pairs, |r| pick(r, false, true));
}

fn flush(bits: u64) -> u64 {
    if f(bits).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

fn saturate(bits: u64) -> u64 {
    canonical(if f(bits).is_nan() { 0.0 } else { f(bits).clamp(0.0, 1.0) + 0.0 })
}

type Binary = fn(f32, f32) -> f32;
type WideBinary = fn(f64, f64) -> f64;

/// Zero, where the result lies below the normal numbers before it is rounded to a subnormal one; `wide` is the result
/// in f64, which is rounded to the precision of f32 at a place where that has exponents enough.
fn flush_result(bits: u64, wide: f64) -> u64 {
    let scaled = (wide * 2f64.powi(64)) as f32;
    if scaled.abs() < 2f32.powi(-62) { u64::from(wide.is_sign_negative()) << 31 } else { bits }
}

#[test]
fn subnormal_numbers_are_flushed_only_where_written() {
    let pairs = product(&[F32_EDGES, F32_EDGES]);
    let ops: [(&str, Binary, WideBinary); 4] = [
        ("add.rn", |a, b| a + b, |a, b| a + b),
        ("sub.rn", |a, b| a - b, |a, b| a - b),
        ("mul.rn", |a, b| a * b, |a, b| a * b),
        ("div.rn", |a, b| a / b, |a, b| a / b),
    ];
    for (op, apply, wide) in ops {
        let line = format!("{op}.ftz.f32 %out, %a, %b;");
        check(&line, F32, &[F32; 2], &pairs, |r| {
            let (a, b) = (f(flush(r[0])), f(flush(r[1])));
            flush_result(canonical(apply(a, b)), wide(a.into(), b.into()))
        });
    }
    let triples = product(&[&F32_EDGES[..16], &F32_EDGES[4..20], &F32_EDGES[..16]]);
    check("fma.rn.ftz.f32 %out, %a, %b, %c;", F32, &[F32; 3], &triples, |r| {
        let [a, b, c] = [r[0], r[1], r[2]].map(|x| f(flush(x)));
        flush_result(canonical(a.mul_add(b, c)), f64::from(a).mul_add(b.into(), c.into()))
    });
    let singles = product(&[F32_EDGES]);
    check("abs.ftz.f32 %out, %a;", F32, &[F32], &singles, |r| canonical(f(flush(r[0])).abs()));
    check("neg.ftz.f32 %out, %a;", F32, &[F32], &singles, |r| canonical(-f(flush(r[0]))));
    check("abs.f32 %out, %a;", F32, &[F32], &singles, |r| canonical(f(r[0]).abs()));
    check("neg.f32 %out, %a;", F32, &[F32], &singles, |r| canonical(-f(r[0])));
}

#[test]
fn saturation_clamps_and_makes_nan_zero() {
    let pairs = product(&[F32_EDGES, F32_EDGES]);
    check("add.rn.sat.f32 %out, %a, %b;", F32, &[F32; 2], &pairs, |r| saturate(canonical(f(r[0]) + f(r[1]))));
    check("mul.rn.sat.f32 %out, %a, %b;", F32, &[F32; 2], &pairs, |r| saturate(canonical(f(r[0]) * f(r[1]))));
}

#[test]
fn packed_f32_is_two_operations() {
    let packed: Vec<u64> = F32_EDGES.iter().zip(F32_EDGES.iter().rev()).map(|(&l, &h)| h << 32 | l).collect();
    let pairs = product(&[&packed, &packed]);
    let both = |r: &[u64], apply: &dyn Fn(&[f32]) -> f32| {
        let half = |shift: u32| canonical(apply(&r.iter().map(|&x| f(x >> shift & 0xffff_ffff)).collect::<Vec<_>>()));
        half(32) << 32 | half(0)
    };
    for round in ROUNDS {
        let line = |op: &str| format!("{op}.{round}.f32x2 %out, %a, %b;");
        check(&line("add"), B64, &[B64; 2], &pairs, |r| both(r, &|x| add(x[0], x[1], round)));
        check(&line("sub"), B64, &[B64; 2], &pairs, |r| both(r, &|x| add(x[0], -x[1], round)));
        check(&line("mul"), B64, &[B64; 2], &pairs, |r| both(r, &|x| mul(x[0], x[1], round)));
        let triples = product(&[&packed[8..24], &packed[10..30], &packed[..20]]);
        let line = format!("fma.{round}.f32x2 %out, %a, %b, %c;");
        check(&line, B64, &[B64; 3], &triples, |r| both(r, &|x| fma(x[0], x[1], x[2], round)));
    }
}

const F64_EDGES: &[u64] = &[
    0,
    1 << 63,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3ca0_0000_0000_0000,
    0x3ca0_0000_0000_0001,
    0x3fb9_9999_9999_999a,
    0xbfb9_9999_9999_999a,
    0x3fd5_5555_5555_5555,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x4008_0000_0000_0000,
    0x4340_0000_0000_0001,
    0x5fe0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
];

/// NaN operands are left out above, so that every NaN is that of an invalid operation.
fn invalid(x: f64) -> u64 {
    if x.is_nan() { 0xfff8_0000_0000_0000 } else { x.to_bits() }
}

#[test]
fn f64_to_the_nearest() {
    let d = f64::from_bits;
    let pairs = product(&[F64_EDGES, F64_EDGES]);
    check("add.rn.f64 %out, %a, %b;", F64, &[F64; 2], &pairs, |r| invalid(d(r[0]) + d(r[1])));
    check("sub.rn.f64 %out, %a, %b;", F64, &[F64; 2], &pairs, |r| invalid(d(r[0]) - d(r[1])));
    check("mul.rn.f64 %out, %a, %b;", F64, &[F64; 2], &pairs, |r| invalid(d(r[0]) * d(r[1])));
    check("div.rn.f64 %out, %a, %b;", F64, &[F64; 2], &pairs, |r| invalid(d(r[0]) / d(r[1])));
    let singles = product(&[F64_EDGES]);
    check("sqrt.rn.f64 %out, %a;", F64, &[F64], &singles, |r| invalid(d(r[0]).sqrt()));
    check("rcp.rn.f64 %out, %a;", F64, &[F64], &singles, |r| invalid(1.0 / d(r[0])));
    check("neg.f64 %out, %a;", F64, &[F64], &singles, |r| r[0] ^ 1 << 63);
    check("abs.f64 %out, %a;", F64, &[F64], &singles, |r| r[0] & !(1 << 63));
    let triples = product(&[F64_EDGES, F64_EDGES, F64_EDGES]);
    check("fma.rn.f64 %out, %a, %b, %c;", F64, &[F64; 3], &triples, |r| invalid(d(r[0]).mul_add(d(r[1]), d(r[2]))));
}

#[test]
fn f64_towards_zero_down_and_up() {
    // Normal numbers whose results are normal: there the residual of the nearest result is exact.
    let values: Vec<u64> =
        F64_EDGES.iter().copied().filter(|&b| (1e-9..1e16).contains(&f64::from_bits(b).abs())).collect();
    let pairs = product(&[&values, &values]);
    let d = f64::from_bits;
    let directed = |nearest: f64, error: f64, round: &str| match round {
        // `error` is the exact result less the nearest.
        "rz" if error != 0.0 && (error < 0.0) == (nearest > 0.0) => {
            if nearest > 0.0 {
                nearest.next_down()
            } else {
                nearest.next_up()
            }
        }
        "rm" if error < 0.0 => nearest.next_down(),
        "rp" if error > 0.0 => nearest.next_up(),
        _ => nearest,
    };
    for round in ["rz", "rm", "rp"] {
        let line = |op: &str| format!("{op}.{round}.f64 %out, %a, %b;");
        check(&line("add"), F64, &[F64; 2], &pairs, |r| {
            let (s, e) = two_sum(d(r[0]), d(r[1]));
            let s = if s == 0.0 { f64::from(zero_sum(round)) } else { s };
            directed(s, e, round).to_bits()
        });
        check(&line("mul"), F64, &[F64; 2], &pairs, |r| {
            let p = d(r[0]) * d(r[1]);
            directed(p, d(r[0]).mul_add(d(r[1]), -p), round).to_bits()
        });
        check(&line("div"), F64, &[F64; 2], &pairs, |r| {
            let q = d(r[0]) / d(r[1]);
            directed(q, (-q).mul_add(d(r[1]), d(r[0])) / d(r[1]), round).to_bits()
        });
    }
}

#[test]
fn f64_keeps_the_payload_of_a_nan() {
    let rows = vec![vec![0x7ff0_0000_0000_0001, 0x3ff0 << 48], vec![0x3ff0 << 48, 0xfff8_0000_0000_1234]];
    check("add.rn.f64 %out, %a, %b;", F64, &[F64; 2], &rows, |r| {
        if r[0] == 0x3ff0 << 48 { 0xfff8_0000_0000_1234 } else { 0x7ff8_0000_0000_0001 }
    });
}

const F16_EDGES: &[u64] = &[
    0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x401, 0x1400, 0x2e66, 0x3555, 0x3bff, 0x3c00, 0xbc00, 0x3c01, 0xbc01, 0x4200,
    0x6800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01,
];

/// A finite f16 in units of 2^-24, which is exact.
pub fn f16_units(bits: u64) -> i128 {
    let (exponent, fraction) = (bits >> 10 & 31, (bits & 0x3ff) as i128);
    let magnitude = if exponent == 0 { fraction } else { (fraction | 0x400) << (exponent - 1) };
    if bits & 0x8000 != 0 { -magnitude } else { magnitude }
}

pub fn f16_is_finite(bits: u64) -> bool {
    bits & 0x7c00 != 0x7c00
}

/// The f16 nearest to `units` times 2^-48, ties to even; zero is +0.
fn nearest_f16(units: i128) -> u64 {
    let magnitude = units.unsigned_abs();
    let value = |bits: u64| (f16_units(bits) << 24) as u128;
    // The largest f16 not above it; 0x7c00 stands for 2^16, from which on everything is infinite.
    let below = (0..0x7c00).rev().find(|&b| value(b) <= magnitude).unwrap();
    let above = if below == 0x7bff { 1 << (16 + 48) } else { value(below + 1) };
    let (down, up) = (magnitude - value(below), above.saturating_sub(magnitude));
    let bits = below + u64::from(up < down || (up == down && below & 1 == 1));
    if units < 0 { bits | 0x8000 } else { bits }
}

/// `a·b + c` of f16, every special case spelled out.
fn f16_fma(a: u64, b: u64, c: u64) -> u64 {
    let wide = |x: u64| {
        let magnitude = match x & 0x7fff {
            0x7c00 => f64::INFINITY,
            0x7c01.. => f64::NAN,
            _ => f16_units(x & 0x7fff) as f64,
        };
        if x & 0x8000 != 0 { -magnitude } else { magnitude }
    };
    if [a, b, c].iter().any(|&x| !f16_is_finite(x)) {
        let special = wide(a) * wide(b) + wide(c);
        return if special.is_nan() {
            0x7fff
        } else if special > 0.0 {
            0x7c00
        } else {
            0xfc00
        };
    }
    let exact = f16_units(a) * f16_units(b) + (f16_units(c) << 24);
    if exact == 0 {
        let negative_product = (a ^ b) & 0x8000;
        return if negative_product == c & 0x8000 { c & 0x8000 } else { 0 };
    }
    nearest_f16(exact)
}

fn f16_mul(a: u64, b: u64) -> u64 {
    // Adding a zero of the product's own sign changes nothing.
    f16_fma(a, b, (a ^ b) & 0x8000)
}

#[test]
fn f16_and_its_pairs() {
    const ONE: u64 = 0x3c00;
    let pairs = product(&[F16_EDGES, F16_EDGES]);
    check("add.rn.f16 %out, %a, %b;", B16, &[B16; 2], &pairs, |r| f16_fma(r[0], ONE, r[1]));
    check("sub.rn.f16 %out, %a, %b;", B16, &[B16; 2], &pairs, |r| f16_fma(r[0], ONE, r[1] ^ 0x8000));
    check("mul.rn.f16 %out, %a, %b;", B16, &[B16; 2], &pairs, |r| f16_mul(r[0], r[1]));
    let triples = product(&[&F16_EDGES[2..], &F16_EDGES[4..], &F16_EDGES[..18]]);
    check("fma.rn.f16 %out, %a, %b, %c;", B16, &[B16; 3], &triples, |r| f16_fma(r[0], r[1], r[2]));
    let packed: Vec<u64> = F16_EDGES.iter().zip(F16_EDGES.iter().rev()).map(|(&l, &h)| h << 16 | l).collect();
    let pairs = product(&[&packed, &packed]);
    let both =
        |r: &[u64], g: &dyn Fn(u64, u64) -> u64| g(r[0] >> 16, r[1] >> 16) << 16 | g(r[0] & 0xffff, r[1] & 0xffff);
    check("add.rn.f16x2 %out, %a, %b;", B32, &[B32; 2], &pairs, |r| both(r, &|a, b| f16_fma(a, ONE, b)));
    check("mul.rn.f16x2 %out, %a, %b;", B32, &[B32; 2], &pairs, |r| both(r, &f16_mul));
    check("fma.rn.f16x2 %out, %a, %b, %b;", B32, &[B32; 2], &pairs, |r| both(r, &|a, b| f16_fma(a, b, b)));
}
