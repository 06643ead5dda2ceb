//! Integer operations of 32 bits only, and carry chains, against wider arithmetic of the host.

use ptx_machine::FaultKind;

use crate::harness::{B32, B64, Kernel, PRED, body, check, product};

const WORDS: &[u64] = &[
    0,
    1,
    2,
    5,
    7,
    0x1f,
    0x20,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x0001_0000,
    0x007f_ffff,
    0x0080_0000,
    0x00ff_ffff,
    0x1234_5678,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xdead_beef,
    0xffff_fffe,
    0xffff_ffff,
];
const FEW: &[u64] = &[0, 1, 0x8040_ff7f, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

fn s(x: u64) -> i128 {
    i128::from(x as u32 as i32)
}

/// A signed or unsigned reading of one part of a word.
fn part(x: u64, at: u32, bits: u32, signed: bool) -> i128 {
    let value = i128::from(x >> at & ((1 << bits) - 1));
    if signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
}

fn word(x: i128) -> u64 {
    u64::from(x as u32)
}

fn clamp(x: i128) -> u64 {
    word(x.clamp(i32::MIN.into(), i32::MAX.into()))
}

#[test]
fn saturating_forms_clamp_to_the_range_of_32_bits() {
    let rows = product(&[WORDS, WORDS]);
    check("add.sat.s32 %out, %a, %b;", B32, &[B32, B32], &rows, |r| clamp(s(r[0]) + s(r[1])));
    check("sub.sat.s32 %out, %a, %b;", B32, &[B32, B32], &rows, |r| clamp(s(r[0]) - s(r[1])));
    check("min.relu.s32 %out, %a, %b;", B32, &[B32, B32], &rows, |r| word(s(r[0]).min(s(r[1])).max(0)));
    check("max.relu.s32 %out, %a, %b;", B32, &[B32, B32], &rows, |r| word(s(r[0]).max(s(r[1])).max(0)));
    let rows = product(&[WORDS, WORDS, FEW]);
    let high = |r: &[u64]| clamp(((s(r[0]) * s(r[1])) >> 32) + s(r[2]));
    check("mad.hi.sat.s32 %out, %a, %b, %c;", B32, &[B32; 3], &rows, high);
}

#[test]
fn products_of_24_bits_take_the_low_24_bits_of_each_factor() {
    for (ty, signed) in [("u32", false), ("s32", true)] {
        let exact = move |r: &[u64]| part(r[0], 0, 24, signed) * part(r[1], 0, 24, signed);
        let rows = product(&[WORDS, WORDS]);
        check(&format!("mul24.lo.{ty} %out, %a, %b;"), B32, &[B32; 2], &rows, |r| word(exact(r)));
        check(&format!("mul24.hi.{ty} %out, %a, %b;"), B32, &[B32; 2], &rows, |r| word(exact(r) >> 16));
        let rows = product(&[WORDS, WORDS, FEW]);
        let low = |r: &[u64]| word(exact(r) + s(r[2]));
        check(&format!("mad24.lo.{ty} %out, %a, %b, %c;"), B32, &[B32; 3], &rows, low);
        let high = |r: &[u64]| word((exact(r) >> 16) + s(r[2]));
        check(&format!("mad24.hi.{ty} %out, %a, %b, %c;"), B32, &[B32; 3], &rows, high);
    }
    let rows = product(&[WORDS, WORDS, FEW]);
    let saturated = |r: &[u64]| {
        let high = (part(r[0], 0, 24, true) * part(r[1], 0, 24, true)) >> 16;
        clamp(s(word(high)) + s(r[2]))
    };
    check("mad24.hi.sat.s32 %out, %a, %b, %c;", B32, &[B32; 3], &rows, saturated);
}

#[test]
fn dot_products_add_up_their_parts() {
    let rows = product(&[WORDS, WORDS, FEW]);
    for (a, b) in [("u32", "u32"), ("u32", "s32"), ("s32", "u32"), ("s32", "s32")] {
        let (a_signed, b_signed) = (a == "s32", b == "s32");
        let byte = move |r: &[u64], k: u32| part(r[0], 8 * k, 8, a_signed) * part(r[1], 8 * k, 8, b_signed);
        let four = |r: &[u64]| word((0..4).map(|k| byte(r, k)).sum::<i128>() + s(r[2]));
        check(&format!("dp4a.{a}.{b} %out, %a, %b, %c;"), B32, &[B32; 3], &rows, four);
        for (half, first) in [("lo", 0u32), ("hi", 16)] {
            let two = |r: &[u64]| {
                let one = |k: u32| part(r[0], 16 * k, 16, a_signed) * part(r[1], first + 8 * k, 8, b_signed);
                word(one(0) + one(1) + s(r[2]))
            };
            check(&format!("dp2a.{half}.{a}.{b} %out, %a, %b, %c;"), B32, &[B32; 3], &rows, two);
        }
    }
}

#[test]
fn halves_are_computed_each_by_itself() {
    let rows = product(&[WORDS, WORDS]);
    let both = |f: &dyn Fn(i128, i128) -> i128, signed: bool, r: &[u64]| {
        let half = |at| (f(part(r[0], at, 16, signed), part(r[1], at, 16, signed)) as u64) & 0xffff;
        half(0) | half(16) << 16
    };
    for (ty, signed) in [("u16x2", false), ("s16x2", true)] {
        check(&format!("add.{ty} %out, %a, %b;"), B32, &[B32; 2], &rows, |r| both(&|x, y| x + y, signed, r));
        check(&format!("min.{ty} %out, %a, %b;"), B32, &[B32; 2], &rows, |r| both(&|x, y| x.min(y), signed, r));
        check(&format!("max.{ty} %out, %a, %b;"), B32, &[B32; 2], &rows, |r| both(&|x, y| x.max(y), signed, r));
    }
    let relu = |r: &[u64]| both(&|x, y| x.min(y).max(0), true, r);
    check("min.relu.s16x2 %out, %a, %b;", B32, &[B32; 2], &rows, relu);
}

#[test]
fn masks_and_extensions_clamp_or_wrap_their_amounts() {
    let amounts: Vec<u64> = (0..34).chain([63, 64, 255, 256, 0x8000_0000, 0xffff_ffff]).collect();
    let rows = product(&[&amounts, &amounts]);
    let ones = |first: u64, width: u64| (first..32.min(first.saturating_add(width))).fold(0, |m, bit| m | 1 << bit);
    check("bmsk.clamp.b32 %out, %a, %b;", B32, &[B32; 2], &rows, |r| ones(r[0], r[1].min(32)));
    check("bmsk.wrap.b32 %out, %a, %b;", B32, &[B32; 2], &rows, |r| ones(r[0] % 32, r[1] % 32));
    let rows = product(&[WORDS, &amounts]);
    for (ty, signed) in [("u32", false), ("s32", true)] {
        let cut = move |x: u64, width: u64| if width == 0 { 0 } else { word(part(x, 0, width as u32, signed)) };
        check(&format!("szext.clamp.{ty} %out, %a, %b;"), B32, &[B32; 2], &rows, |r| cut(r[0], r[1].min(32)));
        check(&format!("szext.wrap.{ty} %out, %a, %b;"), B32, &[B32; 2], &rows, |r| cut(r[0], r[1] % 32));
    }
}

#[test]
fn fns_finds_the_nth_one_up_or_down() {
    let bases: Vec<u64> = (0..32).collect();
    let offsets: Vec<u64> = (-6i32..=6).chain([i32::MIN, i32::MAX]).map(|x| u64::from(x as u32)).collect();
    let rows = product(&[&[0, 1, 0x8000_0000, 0xffff_ffff, 0x8421_1248, 0x0ff0_0ff0], &bases, &offsets]);
    check("fns.b32 %out, %a, %b, %c;", B32, &[B32; 3], &rows, |r| {
        let offset = i64::from(r[2] as u32 as i32);
        let mut at = r[1] as i64;
        let mut left = offset.abs().max(1);
        loop {
            if !(0..32).contains(&at) {
                return u64::from(u32::MAX);
            }
            left -= i64::from(r[0] >> at & 1 == 1);
            if left == 0 {
                return at as u64;
            }
            if offset == 0 {
                return u64::from(u32::MAX);
            }
            at += offset.signum();
        }
    });
}

#[test]
fn lop3_says_whether_its_result_is_zero() {
    let rows = product(&[FEW, FEW, &[0, 1]]);
    for (join, f) in [("or", (|a, b| a || b) as fn(bool, bool) -> bool), ("and", |a, b| a && b)] {
        let line = format!("lop3.{join}.b32 %word|%out, %a, %b, 0xff, 0x80, %c;");
        check(&line, PRED, &[B32, B32, PRED], &rows, |r| u64::from(f(r[0] & r[1] & 0xff != 0, r[2] != 0)));
        let line = format!("lop3.{join}.b32 %out|%q, %a, %b, 0xff, 0x80, !%c;");
        check(&line, B32, &[B32, B32, PRED], &rows, |r| r[0] & r[1] & 0xff);
    }
}

const LONG: &[u64] = &[
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0xffff_ffff_0000_0000,
    0x1234_5678_9abc_def0,
    i64::MAX as u64,
    i64::MIN as u64,
    0xffff_ffff_ffff_fffe,
    u64::MAX,
];

/// Declares the halves of `%a` and `%b`, and a result of two halves.
fn halves(text: &str) -> String {
    format!(
        "{{ .reg .b32 %a0, %a1, %b0, %b1, %r0, %r1, %r2, %r3;\nmov.b64 {{%a0, %a1}}, %a;\nmov.b64 {{%b0, %b1}}, %b;\n\
         {text}\nmov.b64 %out, {{%r0, %r1}}; }}"
    )
}

#[test]
fn carries_and_borrows_join_words_of_32_bits() {
    let rows = product(&[LONG, LONG]);
    let sum = halves("add.cc.u32 %r0, %a0, %b0;\naddc.u32 %r1, %a1, %b1;");
    check(&sum, B64, &[B64; 2], &rows, |r| r[0].wrapping_add(r[1]));
    let difference = halves("sub.cc.s32 %r0, %a0, %b0;\nsubc.s32 %r1, %a1, %b1;");
    check(&difference, B64, &[B64; 2], &rows, |r| r[0].wrapping_sub(r[1]));
    // What is left over: the carry out of the second word, and the borrow.
    let carry = halves("add.cc.u32 %r0, %a0, %b0;\naddc.cc.u32 %r0, %a1, %b1;\naddc.u32 %r0, 0, 0;\nmov.u32 %r1, 0;");
    check(&carry, B64, &[B64; 2], &rows, |r| u64::from(r[0].checked_add(r[1]).is_none()));
    let borrow = halves("sub.cc.u32 %r0, %a0, %b0;\nsubc.cc.u32 %r0, %a1, %b1;\nsubc.u32 %r0, 5, 0;\nmov.u32 %r1, 0;");
    check(&borrow, B64, &[B64; 2], &rows, |r| 5 - u64::from(r[0] < r[1]));
}

#[test]
fn carries_join_words_of_64_bits() {
    let rows = product(&[LONG, LONG]);
    let high = "add.cc.u64 %out, %a, %b;\naddc.u64 %out, %a, 0;";
    check(high, B64, &[B64; 2], &rows, |r| r[0].wrapping_add(u64::from(r[0].checked_add(r[1]).is_none())));
    let high = "sub.cc.s64 %out, %a, %b;\nsubc.s64 %out, %b, %a;";
    check(high, B64, &[B64; 2], &rows, |r| r[1].wrapping_sub(r[0]).wrapping_sub(u64::from(r[0] < r[1])));
    for (ty, signed) in [("u64", false), ("s64", true)] {
        let exact = move |r: &[u64]| {
            if signed {
                (i128::from(r[0] as i64) * i128::from(r[1] as i64)) as u128
            } else {
                u128::from(r[0]) * u128::from(r[1])
            }
        };
        let line = format!("mad.lo.cc.{ty} %out, %a, %b, %b;\nmadc.hi.{ty} %out, %a, %b, 0;");
        check(&line, B64, &[B64; 2], &rows, |r| (exact(r).wrapping_add(u128::from(r[1])) >> 64) as u64);
        let line = format!("mad.hi.cc.{ty} %out, %a, %b, %a;\naddc.u64 %out, 0, 0;");
        check(&line, B64, &[B64; 2], &rows, |r| u64::from(((exact(r) >> 64) as u64).checked_add(r[0]).is_none()));
    }
}

#[test]
fn a_chain_of_madc_multiplies_64_bits_by_64() {
    // Schoolbook multiplication, four words; the two high ones are the result.
    let line = halves(
        "mul.lo.u32 %r0, %a0, %b0;\nmul.hi.u32 %r1, %a0, %b0;\n\
         mad.lo.cc.u32 %r1, %a1, %b0, %r1;\nmadc.hi.u32 %r2, %a1, %b0, 0;\n\
         mad.lo.cc.u32 %r1, %a0, %b1, %r1;\nmadc.hi.cc.u32 %r2, %a0, %b1, %r2;\naddc.u32 %r3, 0, 0;\n\
         mad.lo.cc.u32 %r2, %a1, %b1, %r2;\nmadc.hi.u32 %r3, %a1, %b1, %r3;\nmov.b32 %r0, %r2;\nmov.b32 %r1, %r3;",
    );
    check(&line, B64, &[B64; 2], &product(&[LONG, LONG]), |r| ((u128::from(r[0]) * u128::from(r[1])) >> 64) as u64);
}

#[test]
fn a_carry_that_no_one_wrote_is_no_value() {
    let mut kernel = Kernel::new(&body("addc.u32 %r1, 1, 2;\nst.global.u32 [%at], %r1;"), 1, 32);
    let out = kernel.unwritten("out", 32);
    assert_eq!(kernel.fault(&[out]).kind, FaultKind::UninitialisedStore);
}
