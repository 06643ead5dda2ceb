//! `min` and `max` with `.abs`, `.xorsign.abs` and three operands, against a definition on f32 numbers.

use crate::floats::F32_EDGES;
use crate::harness::{B16, B32, F32, check, product};

const SIGN: u64 = 0x8000_0000;
const NAN: u64 = 0x7fff_ffff;

fn is_nan(bits: u64) -> bool {
    bits & !SIGN > 0x7f80_0000
}

/// Where -0 is less than +0, the bits of numbers order as these do.
fn order(bits: u64) -> i64 {
    if bits & SIGN == 0 { bits as i64 } else { -((bits & !SIGN) as i64) - 1 }
}

fn pick(a: u64, b: u64, max: bool, nan: bool) -> u64 {
    match (is_nan(a), is_nan(b)) {
        (true, true) => NAN,
        (true, false) | (false, true) if nan => NAN,
        (true, false) => b,
        (false, true) => a,
        _ if (order(a) > order(b)) == max => a,
        _ => b,
    }
}

fn with_product_sign(a: u64, b: u64, max: bool, nan: bool) -> u64 {
    let result = pick(a & !SIGN, b & !SIGN, max, nan);
    if is_nan(result) { NAN } else { result | (a ^ b) & SIGN }
}

/// A half of a word of two bf16, as the f32 that it is the upper half of.
fn widened(word: u64, half: u32) -> u64 {
    (word >> (16 * half) & 0xffff) << 16
}

#[test]
fn magnitudes_are_compared_and_the_sign_is_the_products() {
    let rows = product(&[F32_EDGES, F32_EDGES]);
    for (op, max) in [("min", false), ("max", true)] {
        for (modifier, nan) in [("", false), (".NaN", true)] {
            let line = format!("{op}{modifier}.xorsign.abs.f32 %out, %a, %b;");
            check(&line, F32, &[F32; 2], &rows, |r| with_product_sign(r[0], r[1], max, nan));
        }
    }
}

#[test]
fn bfloats_do_as_the_floats_that_they_begin() {
    let halves: Vec<u64> = F32_EDGES.iter().map(|bits| bits >> 16).collect();
    let rows = product(&[&halves, &halves]);
    let one = |a: u64, b: u64, max: bool, nan: bool| with_product_sign(a << 16, b << 16, max, nan) >> 16;
    for (op, max) in [("min", false), ("max", true)] {
        for (modifier, nan) in [("", false), (".NaN", true)] {
            let line = format!("{op}{modifier}.xorsign.abs.bf16 %out, %a, %b;");
            check(&line, B16, &[B16; 2], &rows, |r| one(r[0], r[1], max, nan));
        }
    }
    let words: Vec<u64> = F32_EDGES.iter().map(|bits| bits >> 16 | bits & 0xffff_0000).collect();
    check("max.xorsign.abs.bf16x2 %out, %a, %b;", B32, &[B32; 2], &product(&[&words, &words]), |r| {
        let half = |k| with_product_sign(widened(r[0], k), widened(r[1], k), true, false) >> 16;
        half(0) | half(1) << 16
    });
}

#[test]
fn halves_keep_their_own_nan_and_zeros() {
    // 1, -2, smallest subnormal, -0, infinity, NaN.
    let edges = [0x3c00, 0xc000, 0x0001, 0x8000, 0x7c00, 0xfe01];
    check("min.xorsign.abs.f16 %out, %a, %b;", B16, &[B16; 2], &product(&[&edges, &edges]), |r| {
        let (x, y) = (r[0] & 0x7fff, r[1] & 0x7fff);
        let sign = (r[0] ^ r[1]) & 0x8000;
        match (x > 0x7c00, y > 0x7c00) {
            (true, true) => 0x7fff,
            (true, false) => y | sign,
            (false, true) => x | sign,
            _ => x.min(y) | sign,
        }
    });
    check("max.ftz.xorsign.abs.f16 %out, %a, %b;", B16, &[B16; 2], &product(&[&[0x0001, 0x8001], &[0x8000, 0]]), |r| {
        (r[0] ^ r[1]) & 0x8000
    });
}

#[test]
fn three_operands_are_reduced_together() {
    let edges: Vec<u64> = F32_EDGES.iter().copied().step_by(3).chain([NAN, 0, SIGN]).collect();
    let rows = product(&[&edges, &edges, &edges]);
    for (op, max) in [("min", false), ("max", true)] {
        for (modifier, nan, abs) in
            [("", false, false), (".NaN", true, false), (".abs", false, true), (".NaN.abs", true, true)]
        {
            let cut = move |x: u64| if abs { x & !SIGN } else { x };
            check(&format!("{op}{modifier}.f32 %out, %a, %b, %c;"), F32, &[F32; 3], &rows, |r| {
                pick(pick(cut(r[0]), cut(r[1]), max, nan), cut(r[2]), max, nan)
            });
        }
    }
}
