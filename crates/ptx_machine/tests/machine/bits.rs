//! Operations on bits against loops over bits, as the PTX ISA writes them.

use crate::harness::{B16, B32, B64, PRED, Ty, check, product};

const WORDS: &[u64] = &[
    0,
    1,
    2,
    0x8000,
    0xffff,
    0x1234_5678,
    0x7fff_ffff,
    0x8000_0000,
    0xdead_beef,
    0xffff_ffff,
    0x0123_4567_89ab_cdef,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];
const SHIFTS: &[u64] = &[0, 1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 0x8000_0000, 0xffff_ffff];
const WIDTHS: [(u32, Ty); 3] = [(16, B16), (32, B32), (64, B64)];

fn cut(bits: u32, value: u64) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

fn words(bits: u32) -> Vec<u64> {
    let mut words: Vec<u64> = WORDS.iter().map(|&w| cut(bits, w)).collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[test]
fn logic() {
    for (bits, ty) in WIDTHS {
        let words = words(bits);
        let rows = product(&[&words, &words]);
        check(&format!("and.b{bits} %out, %a, %b;"), ty, &[ty; 2], &rows, |r| r[0] & r[1]);
        check(&format!("or.b{bits} %out, %a, %b;"), ty, &[ty; 2], &rows, |r| r[0] | r[1]);
        check(&format!("xor.b{bits} %out, %a, %b;"), ty, &[ty; 2], &rows, |r| r[0] ^ r[1]);
        let rows = product(&[&words]);
        check(&format!("not.b{bits} %out, %a;"), ty, &[ty], &rows, |r| cut(bits, !r[0]));
        check(&format!("cnot.b{bits} %out, %a;"), ty, &[ty], &rows, |r| u64::from(r[0] == 0));
    }
    let rows = product(&[&[0, 1], &[0, 1]]);
    check("and.pred %out, %a, %b;", PRED, &[PRED; 2], &rows, |r| r[0] & r[1]);
    check("or.pred %out, %a, %b;", PRED, &[PRED; 2], &rows, |r| r[0] | r[1]);
    check("xor.pred %out, %a, %b;", PRED, &[PRED; 2], &rows, |r| r[0] ^ r[1]);
    check("not.pred %out, %a;", PRED, &[PRED; 2], &rows, |r| 1 - r[0]);
}

#[test]
fn a_number_is_true_where_it_is_not_zero() {
    for (number, truth) in [("0", 0), ("1", 1), ("2", 1), ("-1", 1), ("0x80000000", 1)] {
        check(&format!("mov.pred %out, {number};"), PRED, &[], &[vec![]], |_| truth);
    }
}

#[test]
fn shifts_past_the_width_leave_nothing_or_the_sign() {
    for (bits, ty) in WIDTHS {
        let rows = product(&[&words(bits), SHIFTS]);
        let operands = [ty, B32];
        let past = |n: u64| n >= u64::from(bits);
        check(&format!("shl.b{bits} %out, %a, %b;"), ty, &operands, &rows, |r| {
            if past(r[1]) { 0 } else { cut(bits, r[0] << r[1]) }
        });
        for word in ["b", "u"] {
            check(&format!("shr.{word}{bits} %out, %a, %b;"), ty, &operands, &rows, |r| {
                if past(r[1]) { 0 } else { r[0] >> r[1] }
            });
        }
        check(&format!("shr.s{bits} %out, %a, %b;"), ty, &operands, &rows, |r| {
            let unused = 64 - bits;
            let value = (r[0] << unused) as i64 >> unused;
            cut(bits, (value >> r[1].min(63)) as u64)
        });
    }
}

#[test]
fn funnel_shifts_clamp_or_wrap() {
    let words = words(32);
    let rows = product(&[&words, &words, SHIFTS]);
    for (mode, amount) in [("clamp", (|n| n.min(32)) as fn(u64) -> u64), ("wrap", |n| n & 31)] {
        check(&format!("shf.l.{mode}.b32 %out, %a, %b, %c;"), B32, &[B32; 3], &rows, |r| {
            let n = amount(r[2]);
            // PTX: (b << n) | (a >> (32 - n)).
            cut(32, if n == 32 { r[0] } else { r[1] << n | r[0] >> (32 - n) })
        });
        check(&format!("shf.r.{mode}.b32 %out, %a, %b, %c;"), B32, &[B32; 3], &rows, |r| {
            let n = amount(r[2]);
            cut(32, if n == 0 { r[0] } else { r[1] << (32 - n) | r[0] >> n })
        });
    }
}

/// The bit loop of the ISA's page on `bfe`.
fn extract(a: u64, position: u64, length: u64, bits: u64, signed: bool) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let top = bits - 1;
    let sign = if !signed || length == 0 { 0 } else { a >> (position + length - 1).min(top) & 1 };
    (0..bits).fold(0, |d, i| {
        let bit = if i < length && position + i <= top { a >> (position + i) & 1 } else { sign };
        d | bit << i
    })
}

/// The bit loop of the ISA's page on `bfi`.
fn insert(a: u64, b: u64, position: u64, length: u64, bits: u64) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    (0..bits)
        .filter(|&i| i < length && position + i < bits)
        .fold(b, |f, i| f & !(1 << (position + i)) | (a >> i & 1) << (position + i))
}

#[test]
fn bit_fields() {
    let places = &[0, 1, 5, 31, 32, 33, 63, 64, 200, 255, 256, 0x101];
    for (bits, ty) in [(32, B32), (64, B64)] {
        let words = words(bits);
        let rows = product(&[&words, places, places]);
        for (word, signed) in [("u", false), ("s", true)] {
            let line = format!("bfe.{word}{bits} %out, %a, %b, %c;");
            check(&line, ty, &[ty, B32, B32], &rows, |r| extract(r[0], r[1], r[2], bits.into(), signed));
        }
        let rows = product(&[&words[2..6], &words[..4], places, places]);
        let line = format!("bfi.b{bits} %out, %a, %b, %c, %d;");
        check(&line, ty, &[ty, ty, B32, B32], &rows, |r| insert(r[0], r[1], r[2], r[3], bits.into()));
    }
}

#[test]
fn counting_and_finding() {
    for (bits, ty) in [(32u32, B32), (64, B64)] {
        let rows = product(&[&words(bits)]);
        let bit = |x: u64, i: u32| x >> i & 1;
        check(&format!("popc.b{bits} %out, %a;"), B32, &[ty], &rows, |r| (0..bits).map(|i| bit(r[0], i)).sum());
        check(&format!("clz.b{bits} %out, %a;"), B32, &[ty], &rows, |r| {
            (0..bits).take_while(|&i| bit(r[0], bits - 1 - i) == 0).count() as u64
        });
        check(&format!("brev.b{bits} %out, %a;"), ty, &[ty], &rows, |r| {
            (0..bits).fold(0, |x, i| x | bit(r[0], i) << (bits - 1 - i))
        });
        for signed in [false, true] {
            let kind = if signed { 's' } else { 'u' };
            let leading = |x: u64| {
                let sign = if signed { bit(x, bits - 1) } else { 0 };
                (0..bits).rev().find(|&i| bit(x, i) != sign)
            };
            let none = 0xffff_ffff;
            check(&format!("bfind.{kind}{bits} %out, %a;"), B32, &[ty], &rows, |r| {
                leading(r[0]).map_or(none, u64::from)
            });
            check(&format!("bfind.shiftamt.{kind}{bits} %out, %a;"), B32, &[ty], &rows, |r| {
                leading(r[0]).map_or(none, |i| u64::from(bits - 1 - i))
            });
        }
    }
}

#[test]
fn lop3_is_its_table() {
    let rows = product(&[&[0xf0f0_1234, 0], &[0xcccc_5678, 0xffff_ffff], &[0xaaaa_9abc]]);
    for table in [0u32, 1, 0x80, 0x96, 0xca, 0xe8, 0xff, 0x3c] {
        check(&format!("lop3.b32 %out, %a, %b, %c, {table};"), B32, &[B32; 3], &rows, |r| {
            (0..32).fold(0, |d, i| {
                let index = (r[0] >> i & 1) << 2 | (r[1] >> i & 1) << 1 | r[2] >> i & 1;
                d | u64::from(table >> index & 1) << i
            })
        });
    }
}

#[test]
fn prmt_picks_bytes_and_signs() {
    let (a, b) = (0x8302_8100, 0x0786_0584);
    let selectors = &[0x3210, 0x7654, 0x0123, 0x4567, 0xba98, 0xfedc, 0x8888, 0xffff_5140, 1, 2, 3];
    let rows = product(&[&[a], &[b], selectors]);
    let bytes: Vec<u64> = (0..8).map(|i| (b << 32 | a) >> (8 * i) & 0xff).collect();
    let four = |pick: [u64; 4]| pick.iter().enumerate().fold(0, |d, (i, &p)| d | bytes[p as usize] << (8 * i));
    check("prmt.b32 %out, %a, %b, %c;", B32, &[B32; 3], &rows, |r| {
        (0..4).fold(0, |d, i| {
            let selector = r[2] >> (4 * i) & 15;
            let byte = bytes[(selector & 7) as usize];
            let sign = if byte & 0x80 != 0 { 0xff } else { 0 };
            d | (if selector & 8 != 0 { sign } else { byte }) << (8 * i)
        })
    });
    // The tables of the ISA's page, selector 0 to 3.
    let modes: [(&str, [[u64; 4]; 4]); 6] = [
        ("f4e", [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
        ("b4e", [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
        ("rc8", [[0; 4], [1; 4], [2; 4], [3; 4]]),
        ("ecl", [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
        ("rc16", [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
    ];
    let rows = product(&[&[a], &[b], &[0, 1, 2, 3, 7]]);
    for (mode, table) in modes {
        check(&format!("prmt.b32.{mode} %out, %a, %b, %c;"), B32, &[B32; 3], &rows, |r| {
            four(table[(r[2] & 3) as usize])
        });
    }
}

#[test]
fn moves_pack_and_unpack() {
    let rows = product(&[&words(32), &words(32)]);
    check("mov.b64 %out, {%a, %b};", B64, &[B32; 2], &rows, |r| r[1] << 32 | r[0]);
    let rows = product(&[&words(16), &words(16)]);
    check("mov.b32 %out, {%a, %b};", B32, &[B16; 2], &rows, |r| r[1] << 16 | r[0]);
    let rows = product(&[&words(16), &words(16), &[0x8001], &[0x7fff]]);
    check("mov.b64 %out, {%a, %b, %c, %d};", B64, &[B16; 4], &rows, |r| r[3] << 48 | r[2] << 32 | r[1] << 16 | r[0]);
    let rows = product(&[&words(64)]);
    check("mov.b64 {_, %out}, %a;", B32, &[B64], &rows, |r| r[0] >> 32);
    check("mov.b64 {%out, %t}, %a; mov.u32 %t, %tid.x;", B32, &[B64], &rows, |r| r[0] & 0xffff_ffff);
    check(".reg .b16 %h<3>; mov.b64 {%h0, %h1, %out, %h2}, %a;", B16, &[B64], &rows, |r| r[0] >> 32 & 0xffff);
    let rows = product(&[&words(32)]);
    check(".reg .b16 %h; mov.b32 {%out, %h}, %a;", B16, &[B32], &rows, |r| r[0] & 0xffff);
    check("mov.f32 %out, %a;", crate::harness::F32, &[crate::harness::F32], &rows, |r| r[0]);
}
