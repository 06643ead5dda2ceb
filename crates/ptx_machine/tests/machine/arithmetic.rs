//! Integer arithmetic against 128-bit arithmetic.

use crate::harness::{B16, B32, B64, Ty, check, product};

/// Edge values of every width; the operand's width cuts them.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    0x55,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0x8001,
    0xffff,
    0x1_0000,
    0x1234_5678,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x0123_4567_89ab_cdef,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0xffff_ffff_ffff_fffe,
    u64::MAX,
];

/// A PTX integer type.
#[derive(Clone, Copy)]
struct Int {
    word: &'static str,
    bits: u32,
    signed: bool,
    ty: Ty,
}

const INTS: [Int; 6] = [
    Int { word: "u16", bits: 16, signed: false, ty: B16 },
    Int { word: "s16", bits: 16, signed: true, ty: B16 },
    Int { word: "u32", bits: 32, signed: false, ty: B32 },
    Int { word: "s32", bits: 32, signed: true, ty: B32 },
    Int { word: "u64", bits: 64, signed: false, ty: B64 },
    Int { word: "s64", bits: 64, signed: true, ty: B64 },
];

impl Int {
    fn value(self, bits: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed { i128::from((bits << unused) as i64 >> unused) } else { i128::from(bits << unused >> unused) }
    }

    fn cut(self, value: i128) -> u64 {
        value as u64 & (u64::MAX >> (64 - self.bits))
    }

    fn edges(self) -> Vec<u64> {
        let mut edges: Vec<u64> = EDGES.iter().map(|&e| self.cut(i128::from(e))).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    /// Holds `op.TYPE` of two operands against `f`.
    fn check2(self, op: &str, f: impl Fn(i128, i128) -> i128) {
        let line = format!("{op}.{} %out, %a, %b;", self.word);
        let edges = self.edges();
        let rows = product(&[&edges, &edges]);
        check(&line, self.ty, &[self.ty; 2], &rows, |r| self.cut(f(self.value(r[0]), self.value(r[1]))));
    }
}

#[test]
fn add_sub_min_max_wrap_and_order() {
    for int in INTS {
        int.check2("add", |a, b| a + b);
        int.check2("sub", |a, b| a - b);
        int.check2("min", i128::min);
        int.check2("max", i128::max);
    }
}

#[test]
fn mul_keeps_the_half_it_names() {
    for int in INTS {
        int.check2("mul.lo", i128::wrapping_mul);
        // The product of two u64 needs all 128 bits: its high half is the same read as unsigned.
        int.check2("mul.hi", |a, b| {
            if int.signed { (a * b) >> int.bits } else { ((a as u128 * b as u128) >> int.bits) as i128 }
        });
    }
}

#[test]
fn wide_products_have_twice_the_bits() {
    for (int, out, bits) in [(INTS[0], B32, 32), (INTS[1], B32, 32), (INTS[2], B64, 64), (INTS[3], B64, 64)] {
        let edges = int.edges();
        let cut = |v: i128| v as u64 & (u64::MAX >> (64 - bits));
        let line = format!("mul.wide.{} %out, %a, %b;", int.word);
        let rows = product(&[&edges, &edges]);
        check(&line, out, &[int.ty; 2], &rows, |r| cut(int.value(r[0]) * int.value(r[1])));
        let line = format!("mad.wide.{} %out, %a, %b, %c;", int.word);
        let rows = product(&[&edges, &edges, &[0, 5, cut(-1)]]);
        check(&line, out, &[int.ty, int.ty, out], &rows, |r| cut(int.value(r[0]) * int.value(r[1]) + i128::from(r[2])));
    }
}

#[test]
fn mad_adds_to_the_half_it_names() {
    for int in INTS {
        let edges = int.edges();
        let rows = product(&[&edges, &edges, &[0, 3, int.cut(-1)]]);
        let product = |r: &[u64]| (int.value(r[0]), int.value(r[1]), int.value(r[2]));
        check(&format!("mad.lo.{} %out, %a, %b, %c;", int.word), int.ty, &[int.ty; 3], &rows, |r| {
            let (a, b, c) = product(r);
            int.cut(a.wrapping_mul(b).wrapping_add(c))
        });
        check(&format!("mad.hi.{} %out, %a, %b, %c;", int.word), int.ty, &[int.ty; 3], &rows, |r| {
            let (a, b, c) = product(r);
            let high = if int.signed { (a * b) >> int.bits } else { ((a as u128 * b as u128) >> int.bits) as i128 };
            int.cut(high + c)
        });
    }
}

#[test]
fn division_truncates_and_the_lowest_number_over_minus_one_wraps() {
    for int in INTS {
        let edges = int.edges();
        let divisors: Vec<u64> = edges.iter().copied().filter(|&e| e != 0).collect();
        let rows = product(&[&edges, &divisors]);
        for (op, f) in [("div", (|a, b| a / b) as fn(i128, i128) -> i128), ("rem", |a, b| a % b)] {
            let line = format!("{op}.{} %out, %a, %b;", int.word);
            check(&line, int.ty, &[int.ty; 2], &rows, |r| int.cut(f(int.value(r[0]), int.value(r[1]))));
        }
    }
}

#[test]
fn dividing_by_zero_gives_all_ones_and_the_dividend() {
    for int in INTS {
        let rows = product(&[&int.edges(), &[0]]);
        let ones = int.cut(-1);
        check(&format!("div.{} %out, %a, %b;", int.word), int.ty, &[int.ty; 2], &rows, |_| ones);
        check(&format!("rem.{} %out, %a, %b;", int.word), int.ty, &[int.ty; 2], &rows, |r| r[0]);
    }
}

#[test]
fn neg_and_abs_leave_the_lowest_number() {
    for int in [INTS[1], INTS[3], INTS[5]] {
        let rows = product(&[&int.edges()]);
        let line = |op| format!("{op}.{} %out, %a;", int.word);
        check(&line("neg"), int.ty, &[int.ty], &rows, |r| int.cut(-int.value(r[0])));
        check(&line("abs"), int.ty, &[int.ty], &rows, |r| int.cut(int.value(r[0]).abs()));
    }
}

#[test]
fn sad_adds_the_distance() {
    for int in INTS {
        let edges = int.edges();
        let rows = product(&[&edges, &edges, &[0, 9]]);
        let line = format!("sad.{} %out, %a, %b, %c;", int.word);
        check(&line, int.ty, &[int.ty; 3], &rows, |r| {
            int.cut((int.value(r[0]) - int.value(r[1])).abs() + int.value(r[2]))
        });
    }
}

#[test]
fn constants_and_sinks_are_operands() {
    let rows = product(&[&[0, 7, 0xffff_ffff]]);
    check("add.s32 %out, %a, -5;", B32, &[B32], &rows, |r| (r[0] as u32).wrapping_sub(5).into());
    check("add.u32 %out, 0x10, %a;", B32, &[B32], &rows, |r| (r[0] as u32).wrapping_add(16).into());
    check("mul.lo.u32 %out, %a, WARP_SZ;", B32, &[B32], &rows, |r| (r[0] as u32).wrapping_mul(32).into());
    check("add.u32 _, %a, 1; mov.u32 %out, %a;", B32, &[B32], &rows, |r| r[0]);
}
