//! Conversions to and from fp8, tf32 and bf16, and packing of integers: the nearest of all values, by enumeration.

use std::sync::LazyLock;

use crate::floats::F32_EDGES;
use crate::harness::{B16, B32, B64, F32, check, product};

/// What the bits of a small float mean: its parts, without help of the machine's own arithmetic. `None` is NaN.
fn value(bits: u64, mantissa: u32, exponent: u32, has_infinity: bool) -> Option<f64> {
    let fraction = bits & ((1 << mantissa) - 1);
    let biased = bits >> mantissa & ((1 << exponent) - 1);
    let sign = if bits >> (mantissa + exponent) & 1 == 1 { -1.0 } else { 1.0 };
    let bias = (1 << (exponent - 1)) - 1;
    let is_top = biased == (1 << exponent) - 1;
    match (biased, fraction) {
        (_, 0) if is_top && has_infinity => Some(sign * f64::INFINITY),
        _ if is_top && (has_infinity || fraction == (1 << mantissa) - 1) => None,
        (0, f) => Some(sign * f as f64 * 2f64.powi(1 - bias - mantissa as i32)),
        (b, f) => Some(sign * (f + (1 << mantissa)) as f64 * 2f64.powi(b as i32 - bias - mantissa as i32)),
    }
}

fn e4m3(bits: u64) -> Option<f64> {
    value(bits, 3, 4, false)
}

fn e5m2(bits: u64) -> Option<f64> {
    value(bits, 2, 5, true)
}

/// The finite code nearest to `x`, of two the even one, with the sign of `x`; past the last one, the last one.
fn nearest(x: f64, decode: fn(u64) -> Option<f64>) -> u64 {
    if x.is_nan() {
        return 0x7f;
    }
    let magnitude = x.abs().min(1e9);
    let codes = (0..0x80u64).filter(|&c| decode(c).is_some_and(f64::is_finite));
    let distance = |c: u64| (decode(c).unwrap() - magnitude).abs();
    let best = codes.min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)))).unwrap();
    best | if x.is_sign_negative() { 0x80 } else { 0 }
}

fn relu(code: u64) -> u64 {
    if code & 0x80 != 0 { 0 } else { code }
}

/// f32 numbers about every value of both formats: each one, its neighbours, and what lies halfway to the next.
fn about_codes() -> Vec<u64> {
    let mut all: Vec<u64> = F32_EDGES.to_vec();
    for decode in [e4m3, e5m2] {
        for code in 0..0x7f {
            let (Some(x), Some(next)) = (decode(code), decode(code + 1)) else { continue };
            for point in [x, f64::midpoint(x, next)] {
                let bits = (point as f32).to_bits();
                all.extend([bits.wrapping_sub(1), bits, bits + 1, bits | 0x8000_0000].map(u64::from));
            }
        }
    }
    all
}

#[test]
fn fp8_is_the_nearest_code_and_saturates() {
    let rows: Vec<Vec<u64>> = about_codes().chunks(2).map(|c| vec![c[0], *c.last().unwrap()]).collect();
    let f = |bits: u64| f64::from(f32::from_bits(bits as u32));
    for (word, decode) in [("e4m3x2", e4m3 as fn(u64) -> Option<f64>), ("e5m2x2", e5m2)] {
        let code = move |bits: u64| nearest(f(bits), decode);
        let line = format!("cvt.rn.satfinite.{word}.f32 %out, %a, %b;");
        check(&line, B16, &[F32; 2], &rows, |r| code(r[0]) << 8 | code(r[1]));
        let line = format!("cvt.rn.satfinite.relu.{word}.f32 %out, %a, %b;");
        check(&line, B16, &[F32; 2], &rows, |r| relu(code(r[0])) << 8 | relu(code(r[1])));
    }
}

static F16: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..0x1_0000).map(|bits| value(bits, 10, 5, true).unwrap_or(f64::NAN)).collect());

fn f16_value(bits: u64) -> f64 {
    F16[bits as usize]
}

/// The bits of the f16 that is nearest, ties to even.
fn f16_of(x: f64) -> u64 {
    let sign = u64::from(x.is_sign_negative()) << 15;
    if x.abs() >= 65520.0 {
        return sign | 0x7c00;
    }
    let above = F16[..0x7c00].partition_point(|&v| v < x.abs());
    let distance = |b: &usize| (F16[*b] - x.abs()).abs();
    let near = [above.saturating_sub(1), above.min(0x7bff)];
    let best = near.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)).then((*a & 1).cmp(&(*b & 1)))).unwrap();
    sign | *best as u64
}

#[test]
fn fp8_of_every_f16_and_f16_of_every_fp8() {
    let rows: Vec<Vec<u64>> = (0..0x1_0000u64).step_by(2).map(|x| vec![x | (x + 1) << 16]).collect();
    for (word, decode) in [("e4m3x2", e4m3 as fn(u64) -> Option<f64>), ("e5m2x2", e5m2)] {
        let code = move |bits: u64| nearest(f16_value(bits & 0xffff), decode);
        let line = format!("cvt.rn.satfinite.{word}.f16x2 %out, %a;");
        check(&line, B16, &[B32], &rows, |r| code(r[0] >> 16) << 8 | code(r[0]));
        // Every fp8 is an f16.
        let codes: Vec<Vec<u64>> = (0..0x100u64).map(|x| vec![x << 8 | (x ^ 0xff)]).collect();
        let half = move |code: u64| decode(code & 0xff).map_or(0x7fff, f16_of);
        check(&format!("cvt.rn.f16x2.{word} %out, %a;"), B32, &[B16], &codes, |r| half(r[0] >> 8) << 16 | half(r[0]));
        let positive = move |code: u64| if decode(code & 0xff).is_some() && code & 0x80 != 0 { 0 } else { half(code) };
        check(&format!("cvt.rn.relu.f16x2.{word} %out, %a;"), B32, &[B16], &codes, |r| {
            positive(r[0] >> 8) << 16 | positive(r[0])
        });
    }
}

#[test]
fn tf32_keeps_ten_bits_of_the_fraction() {
    let rows = product(&[&[F32_EDGES, &[0x3f80_1000, 0x3f80_2fff, 0x3f80_3000, 0xbf80_1000, 0x7f7f_efff]].concat()]);
    let is_finite = |x: u64| x & 0x7fff_ffff < 0x7f80_0000;
    let is_nan = |x: u64| x & 0x7fff_ffff > 0x7f80_0000;
    check("cvt.rna.tf32.f32 %out, %a;", B32, &[F32], &rows, |r| {
        let raised = if is_finite(r[0]) { r[0] + 0x1000 } else { r[0] };
        raised & 0xffff_e000
    });
    let numbers: Vec<Vec<u64>> = rows.into_iter().filter(|r| !is_nan(r[0])).collect();
    let cut = |x: u64| x & 0xffff_e000;
    check("cvt.rz.tf32.f32 %out, %a;", B32, &[F32], &numbers, |r| cut(r[0]));
    let even = |x: u64| if is_finite(x) { cut(x + 0xfff + (x >> 13 & 1)) } else { x };
    check("cvt.rn.tf32.f32 %out, %a;", B32, &[F32], &numbers, |r| even(r[0]));
    check("cvt.rn.relu.tf32.f32 %out, %a;", B32, &[F32], &numbers, |r| if r[0] >> 31 == 1 { 0 } else { even(r[0]) });
    let finite = |x: u64| if is_finite(x) { x } else { x & 0x8000_0000 | 0x7f7f_e000 };
    check("cvt.rn.satfinite.tf32.f32 %out, %a;", B32, &[F32], &numbers, |r| finite(even(r[0])));
}

/// Whole numbers as bf16: `sign`, and the two neighbours of the magnitude towards and away from zero.
fn bf16_of(x: i128, round: &str) -> u64 {
    let (sign, magnitude) = (u64::from(x < 0) << 15, x.unsigned_abs());
    // Below 2^7 every whole number is a bf16, and from there on every bf16 is whole.
    let exact = |bits: u64| value(bits, 7, 8, true).unwrap().ceil() as u128;
    let all: Vec<u64> = (0..0x7f80).collect();
    let low = all.partition_point(|&bits| exact(bits) <= magnitude) as u64 - 1;
    if exact(low) == magnitude {
        return low | sign;
    }
    let (below, above) = (magnitude - exact(low), exact(low + 1) - magnitude);
    let up = match round {
        "rn" => below > above || below == above && low & 1 == 1,
        "rz" => false,
        "rm" => x < 0,
        _ => x > 0,
    };
    (low + u64::from(up)) | sign
}

#[test]
fn whole_numbers_become_the_bf16_that_the_direction_says() {
    let values = [
        0,
        1,
        3,
        255,
        256,
        257,
        258,
        259,
        0x1_0100,
        0xffff_ffff,
        0x8000_0000,
        0x7f80_0001,
        i64::MAX as u64,
        1 << 63,
        u64::MAX,
    ];
    let rows = product(&[&values]);
    for round in ["rn", "rz", "rm", "rp"] {
        check(&format!("cvt.{round}.bf16.u64 %out, %a;"), B16, &[B64], &rows, |r| bf16_of(r[0].into(), round));
        check(&format!("cvt.{round}.bf16.s64 %out, %a;"), B16, &[B64], &rows, |r| bf16_of((r[0] as i64).into(), round));
        let narrow = |r: &[u64]| bf16_of((r[0] as u32 as i32).into(), round);
        check(&format!("cvt.{round}.bf16.s32 %out, %a;"), B16, &[B32], &rows, narrow);
    }
}

#[test]
fn a_bf16_converts_as_the_f32_that_it_begins() {
    let rows: Vec<Vec<u64>> = (0..0x1_0000).step_by(7).map(|bits| vec![bits]).collect();
    let f = |bits: u64| f32::from_bits((bits as u32) << 16);
    check("cvt.rzi.s32.bf16 %out, %a;", B32, &[B16], &rows, |r| u64::from(f(r[0]) as i32 as u32));
    check("cvt.rni.s64.bf16 %out, %a;", B64, &[B16], &rows, |r| {
        if f(r[0]).is_nan() { 1 << 63 } else { f(r[0]).round_ties_even() as i64 as u64 }
    });
    check("cvt.rmi.bf16.bf16 %out, %a;", B16, &[B16], &rows, |r| {
        if f(r[0]).is_nan() { 0x7fff } else { u64::from(f(r[0]).floor().to_bits() >> 16) }
    });
    let numbers: Vec<Vec<u64>> = rows.into_iter().filter(|r| !f(r[0]).is_nan()).collect();
    check("cvt.f64.bf16 %out, %a;", B64, &[B16], &numbers, |r| f64::from(f(r[0])).to_bits());
    check("cvt.rn.f16.bf16 %out, %a;", B16, &[B16], &numbers, |r| f16_of(f64::from(f(r[0]))));
}

#[test]
fn satfinite_turns_what_is_past_the_range_into_its_end() {
    let rows = product(&[&[0x7f80_0000, 0xff80_0000, 0x7f7f_ffff, 0x4780_0000, 0x3f80_0000, 0xbf80_0000, 0x7fc0_0000]]);
    let end = |bits: u64, end: u64| if bits & 0x7fff == end + 1 { bits & 0x8000 | end } else { bits };
    let f16 = |bits: u64| match bits {
        0x7fc0_0000 => 0x7fff,
        0x3f80_0000 => 0x3c00,
        0xbf80_0000 => 0xbc00,
        x => x >> 16 & 0x8000 | 0x7c00,
    };
    check("cvt.rn.satfinite.f16.f32 %out, %a;", B16, &[F32], &rows, |r| end(f16(r[0]), 0x7bff));
    check("cvt.rn.relu.satfinite.f16.f32 %out, %a;", B16, &[F32], &rows, |r| {
        if r[0] >> 31 == 1 { 0 } else { end(f16(r[0]), 0x7bff) }
    });
    let bf16 = |bits: u64| match bits {
        0x7fc0_0000 => 0x7fff,
        0x7f7f_ffff => 0x7f80,
        x => x >> 16,
    };
    check("cvt.rn.satfinite.bf16x2.f32 %out, %a, %a;", B32, &[F32], &rows, |r| end(bf16(r[0]), 0x7f7f) * 0x1_0001);
}

#[test]
fn packing_saturates_and_keeps_the_rest() {
    let words =
        &[0, 1, 127, 128, 255, 256, 32_767, 32_768, 65_535, 65_536, 0x7fff_ffff, 0x8000_0000, 0xffff_ff7f, 0xffff_ffff];
    let clamp = |x: u64, low: i64, high: i64, keep: u64| i64::from(x as u32 as i32).clamp(low, high) as u64 & keep;
    let rows = product(&[words, words]);
    for (ty, low, high) in [("u16", 0, 65_535), ("s16", -32_768, 32_767)] {
        let part = move |x: u64| clamp(x, low, high, 0xffff);
        let line = format!("cvt.pack.sat.{ty}.s32 %out, %a, %b;");
        check(&line, B32, &[B32; 2], &rows, |r| part(r[0]) << 16 | part(r[1]));
    }
    let rows = product(&[words, words, &[0, 0x1234_5678, 0xffff_ffff]]);
    for (ty, low, high) in [("u8", 0, 255), ("s8", -128, 127)] {
        let part = move |x: u64| clamp(x, low, high, 0xff);
        let line = format!("cvt.pack.sat.{ty}.s32.b32 %out, %a, %b, %c;");
        check(&line, B32, &[B32; 3], &rows, |r| (r[2] << 16 & 0xffff_ffff) | part(r[0]) << 8 | part(r[1]));
    }
}
