//! Comparisons of two f16 or bf16 in a register: each half by itself, against the host's comparison of f32.

use crate::harness::{B16, B32, PRED, check, product};

/// The f16 of small whole numbers, ±0, a subnormal, infinities and NaN, with their values.
const F16: &[(u64, f32)] = &[
    (0x0000, 0.0),
    (0x8000, -0.0),
    (0x0001, 5.960_464_5e-8),
    (0x3c00, 1.0),
    (0xc000, -2.0),
    (0x7c00, f32::INFINITY),
    (0xfc00, f32::NEG_INFINITY),
    (0x7e00, f32::NAN),
];

type Holds = fn(f32, f32) -> bool;

// `a < b || a > b` is not `a != b` where one is NaN.
#[allow(clippy::double_comparisons)]
const COMPARISONS: &[(&str, Holds)] = &[
    ("eq", |a, b| a == b),
    ("ne", |a, b| a < b || a > b),
    ("lt", |a, b| a < b),
    ("le", |a, b| a <= b),
    ("gt", |a, b| a > b),
    ("ge", |a, b| a >= b),
    ("equ", |a, b| !(a < b || a > b)),
    ("neu", |a, b| a != b),
    ("ltu", |a, b| a < b || a.is_nan() || b.is_nan()),
    ("num", |a, b| !a.is_nan() && !b.is_nan()),
    ("nan", |a, b| a.is_nan() || b.is_nan()),
];

fn f16(word: u64, half: u32) -> f32 {
    let bits = word >> (16 * half) & 0xffff;
    F16.iter().find(|(known, _)| *known == bits).unwrap().1
}

fn bf16(word: u64, half: u32) -> f32 {
    f32::from_bits(((word >> (16 * half) & 0xffff) << 16) as u32)
}

/// Every two f16 above every two others.
fn f16_pairs() -> Vec<Vec<u64>> {
    let words: Vec<u64> = F16.iter().zip(F16.iter().cycle().skip(3)).map(|(a, b)| a.0 | b.0 << 16).collect();
    product(&[&words, &words])
}

#[test]
fn set_writes_each_half() {
    for (cmp, holds) in COMPARISONS {
        let both = |r: &[u64], yes: u64, of: fn(u64, u32) -> f32| {
            let half = |k| if holds(of(r[0], k), of(r[1], k)) { yes } else { 0 };
            half(0) | half(1) << 16
        };
        let rows = f16_pairs();
        check(&format!("set.{cmp}.f16x2.f16x2 %out, %a, %b;"), B32, &[B32; 2], &rows, |r| both(r, 0x3c00, f16));
        check(&format!("set.{cmp}.u32.f16x2 %out, %a, %b;"), B32, &[B32; 2], &rows, |r| both(r, 0xffff, f16));
        check(&format!("set.{cmp}.bf16x2.bf16x2 %out, %a, %b;"), B32, &[B32; 2], &rows, |r| both(r, 0x3f80, bf16));
        let rows: Vec<Vec<u64>> = rows.into_iter().map(|r| r.into_iter().map(|x| x & 0xffff).collect()).collect();
        let one = |r: &[u64], yes: u64| if holds(f16(r[0], 0), f16(r[1], 0)) { yes } else { 0 };
        check(&format!("set.{cmp}.u16.f16 %out, %a, %b;"), B16, &[B16; 2], &rows, |r| one(r, 0xffff));
        check(&format!("set.{cmp}.s32.f16 %out, %a, %b;"), B32, &[B16; 2], &rows, |r| one(r, 0xffff_ffff));
        check(&format!("set.{cmp}.f16.f16 %out, %a, %b;"), B16, &[B16; 2], &rows, |r| one(r, 0x3c00));
    }
}

#[test]
fn setp_gives_the_low_half_and_the_high_half() {
    for (cmp, holds) in COMPARISONS {
        let rows = f16_pairs();
        let line = format!("setp.{cmp}.f16x2 %out|%q, %a, %b;");
        check(&line, PRED, &[B32; 2], &rows, |r| u64::from(holds(f16(r[0], 0), f16(r[1], 0))));
        let line = format!("setp.{cmp}.f16x2 %q|%out, %a, %b;");
        check(&line, PRED, &[B32; 2], &rows, |r| u64::from(holds(f16(r[0], 1), f16(r[1], 1))));
        let rows: Vec<Vec<u64>> =
            rows.into_iter().flat_map(|r| [[r.clone(), vec![0]], [r, vec![1]]].map(|x| x.concat())).collect();
        let line = format!("setp.{cmp}.xor.bf16x2 %q|%out, %a, %b, !%c;");
        let operands = [B32, B32, PRED];
        check(&line, PRED, &operands, &rows, |r| u64::from(holds(bf16(r[0], 1), bf16(r[1], 1)) != (r[2] == 0)));
    }
}

#[test]
fn set_joins_a_predicate_in_both_halves() {
    let rows: Vec<Vec<u64>> =
        f16_pairs().into_iter().flat_map(|r| [[r.clone(), vec![0]], [r, vec![1]]].map(|x| x.concat())).collect();
    check("set.lt.and.u32.f16x2 %out, %a, %b, %c;", B32, &[B32, B32, PRED], &rows, |r| {
        let half = |k| if f16(r[0], k) < f16(r[1], k) && r[2] == 1 { 0xffff } else { 0 };
        half(0) | half(1) << 16
    });
}
