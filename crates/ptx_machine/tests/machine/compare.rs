//! Comparisons and selections.

use std::cmp::Ordering;

use crate::floats::F32_EDGES;
use crate::harness::{B16, B32, B64, F32, F64, PRED, Ty, check, product};

type Holds = fn(Option<Ordering>) -> bool;

/// How a comparison is joined with a predicate.
type Join = fn(bool, bool) -> bool;
/// What `testp` asks.
type Test = fn(f32) -> bool;

const ORDERED: [(&str, Holds); 6] = [
    ("eq", |o| o.is_some_and(Ordering::is_eq)),
    ("ne", |o| o.is_some_and(Ordering::is_ne)),
    ("lt", |o| o.is_some_and(Ordering::is_lt)),
    ("le", |o| o.is_some_and(Ordering::is_le)),
    ("gt", |o| o.is_some_and(Ordering::is_gt)),
    ("ge", |o| o.is_some_and(Ordering::is_ge)),
];
const UNORDERED: [(&str, Holds); 8] = [
    ("equ", |o| o.is_none_or(Ordering::is_eq)),
    ("neu", |o| o.is_none_or(Ordering::is_ne)),
    ("ltu", |o| o.is_none_or(Ordering::is_lt)),
    ("leu", |o| o.is_none_or(Ordering::is_le)),
    ("gtu", |o| o.is_none_or(Ordering::is_gt)),
    ("geu", |o| o.is_none_or(Ordering::is_ge)),
    ("num", |o| o.is_some()),
    ("nan", |o| o.is_none()),
];

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

#[test]
fn floats_compare_with_nan_false_or_true() {
    let rows = product(&[F32_EDGES, F32_EDGES]);
    for (name, holds) in ORDERED.into_iter().chain(UNORDERED) {
        let line = format!("setp.{name}.f32 %out, %a, %b;");
        check(&line, PRED, &[F32; 2], &rows, |r| holds(f(r[0]).partial_cmp(&f(r[1]))).into());
        let wide: Vec<_> = rows.iter().map(|r| r.iter().map(|&x| f64::from(f(x)).to_bits()).collect()).collect();
        let line = format!("setp.{name}.f64 %out, %a, %b;");
        check(&line, PRED, &[F64; 2], &wide, |r| holds(f64::from_bits(r[0]).partial_cmp(&f64::from_bits(r[1]))).into());
        let line = format!("set.{name}.u32.f32 %out, %a, %b;");
        check(&line, B32, &[F32; 2], &rows, |r| if holds(f(r[0]).partial_cmp(&f(r[1]))) { 0xffff_ffff } else { 0 });
    }
    let flushed = |x: u64| if f(x).is_subnormal() { 0.0 } else { f(x) };
    check("setp.eq.ftz.f32 %out, %a, %b;", PRED, &[F32; 2], &rows, |r| (flushed(r[0]) == flushed(r[1])).into());
}

#[test]
fn integers_compare_by_sign() {
    let edges = &[0, 1, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63, u64::MAX];
    let types: [(&str, u32, bool, Ty); 6] = [
        ("u16", 16, false, B16),
        ("s16", 16, true, B16),
        ("u32", 32, false, B32),
        ("s32", 32, true, B32),
        ("u64", 64, false, B64),
        ("s64", 64, true, B64),
    ];
    for (word, bits, signed, ty) in types {
        let cut: Vec<u64> = edges.iter().map(|&e: &u64| e << (64 - bits) >> (64 - bits)).collect();
        let rows = product(&[&cut, &cut]);
        let value = |x: u64| {
            let top = i128::from((x << (64 - bits)) as i64 >> (64 - bits));
            if signed { top } else { i128::from(x) }
        };
        let order = |r: &[u64]| Some(value(r[0]).cmp(&value(r[1])));
        for (name, holds) in ORDERED {
            let line = format!("setp.{name}.{word} %out, %a, %b;");
            check(&line, PRED, &[ty; 2], &rows, |r| holds(order(r)).into());
        }
        if !signed {
            for (name, as_signed) in [("lo", 2), ("ls", 3), ("hi", 4), ("hs", 5)] {
                let line = format!("setp.{name}.{word} %out, %a, %b;");
                check(&line, PRED, &[ty; 2], &rows, |r| ORDERED[as_signed].1(order(r)).into());
            }
        }
    }
}

#[test]
fn comparisons_join_predicates_and_give_both_results() {
    let rows = product(&[&[1, 2], &[1, 2], &[0, 1]]);
    let joins: [(&str, Join); 3] = [("and", |a, b| a & b), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)];
    for (join, apply) in joins {
        for (sign, flip) in [("", false), ("!", true)] {
            let line = |dst: &str| format!("setp.lt.{join}.u32 {dst}, %a, %b, {sign}%c;");
            let operands = [B32, B32, PRED];
            check(&line("%out|%p"), PRED, &operands, &rows, |r| apply(r[0] < r[1], (r[2] != 0) != flip).into());
            // The second result joins the opposite comparison.
            check(&line("%p|%out"), PRED, &operands, &rows, |r| apply(r[0] >= r[1], (r[2] != 0) != flip).into());
            check(&line("_|%out"), PRED, &operands, &rows, |r| apply(r[0] >= r[1], (r[2] != 0) != flip).into());
        }
        let line = format!("set.lt.{join}.f32.u32 %out, %a, %b, %c;");
        check(&line, F32, &[B32, B32, PRED], &rows, |r| if apply(r[0] < r[1], r[2] != 0) { 0x3f80_0000 } else { 0 });
    }
    check("setp.lt.u32 %out|%p, %a, %b;", PRED, &[B32, B32], &rows, |r| (r[0] < r[1]).into());
}

#[test]
fn selections() {
    let rows = product(&[&[0x11, 0xffff], &[0x22], &[0, 1]]);
    let pick = |r: &[u64]| if r[2] != 0 { r[0] } else { r[1] };
    check("selp.b16 %out, %a, %b, %c;", B16, &[B16, B16, PRED], &rows, pick);
    check("selp.b32 %out, %a, %b, %c;", B32, &[B32, B32, PRED], &rows, pick);
    check("selp.f32 %out, %a, %b, %c;", F32, &[F32, F32, PRED], &rows, pick);
    check("selp.b64 %out, %a, %b, %c;", B64, &[B64, B64, PRED], &rows, pick);
    check("selp.u32 %out, %a, 9, %c;", B32, &[B32, B32, PRED], &rows, |r| if r[2] != 0 { r[0] } else { 9 });
    let rows = product(&[&[0x11], &[0x22], &[0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]]);
    let sign = |r: &[u64]| if r[2] < 1 << 31 { r[0] } else { r[1] };
    check("slct.b32.s32 %out, %a, %b, %c;", B32, &[B32; 3], &rows, sign);
    check("slct.u64.s32 %out, %a, %b, %c;", B64, &[B64, B64, B32], &rows, sign);
    let rows = product(&[&[0x11], &[0x22], F32_EDGES]);
    check("slct.b32.f32 %out, %a, %b, %c;", B32, &[B32, B32, F32], &rows, |r| if f(r[2]) >= 0.0 { r[0] } else { r[1] });
}

#[test]
fn tests_of_floats() {
    let rows = product(&[F32_EDGES]);
    let tests: [(&str, Test); 6] = [
        ("finite", f32::is_finite),
        ("infinite", f32::is_infinite),
        ("number", |x| !x.is_nan()),
        ("notanumber", f32::is_nan),
        ("normal", |x| x.is_normal() || x == 0.0),
        ("subnormal", f32::is_subnormal),
    ];
    for (name, holds) in tests {
        check(&format!("testp.{name}.f32 %out, %a;"), PRED, &[F32], &rows, |r| holds(f(r[0])).into());
    }
    let pairs = product(&[F32_EDGES, &[0, 0x8000_0000, 0xffc0_0000]]);
    check("copysign.f32 %out, %b, %a;", F32, &[F32; 2], &pairs, |r| r[0] & 0x7fff_ffff | r[1] & 0x8000_0000);
}
