//! Conversions against the host's casts, exact integers, and the rules of the ISA for ranges and NaN.

use crate::floats::{F32_EDGES, f16_is_finite, f16_units};
use crate::harness::{B8, B16, B32, B64, F32, F64, Ty, check, product};

const INTS: &[u64] = &[
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0xff_ffff,
    0x100_0001,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0001,
    0x20_0000_0000_0001,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    u64::MAX,
];

struct Int {
    word: &'static str,
    ty: Ty,
    bits: u32,
    signed: bool,
}

const TYPES: [Int; 8] = [
    Int { word: "u8", ty: B8, bits: 8, signed: false },
    Int { word: "s8", ty: B8, bits: 8, signed: true },
    Int { word: "u16", ty: B16, bits: 16, signed: false },
    Int { word: "s16", ty: B16, bits: 16, signed: true },
    Int { word: "u32", ty: B32, bits: 32, signed: false },
    Int { word: "s32", ty: B32, bits: 32, signed: true },
    Int { word: "u64", ty: B64, bits: 64, signed: false },
    Int { word: "s64", ty: B64, bits: 64, signed: true },
];

impl Int {
    fn value(&self, bits: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed { i128::from((bits << unused) as i64 >> unused) } else { i128::from(bits << unused >> unused) }
    }

    fn range(&self) -> (i128, i128) {
        if self.signed { (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) } else { (0, (1 << self.bits) - 1) }
    }

    /// The bits that a store of the register's width shows.
    fn stored(&self, value: i128) -> u64 {
        value as u64 & (u64::MAX >> (64 - 8 * self.ty.bytes))
    }

    fn holds(&self, other: &Int) -> bool {
        self.range().0 <= other.range().0 && self.range().1 >= other.range().1
    }
}

fn cut(bits: u32, value: u64) -> u64 {
    value & (u64::MAX >> (64 - bits))
}

#[test]
fn integers_are_cut_extended_and_saturated() {
    for from in &TYPES {
        let rows: Vec<_> = INTS.iter().map(|&v| vec![cut(8 * from.ty.bytes, v)]).collect();
        for to in &TYPES {
            let line = format!("cvt.{}.{} %out, %a;", to.word, from.word);
            check(&line, to.ty, &[from.ty], &rows, |r| to.stored(to.value(cut(to.bits, from.value(r[0]) as u64))));
            if to.holds(from) {
                continue;
            }
            let line = format!("cvt.sat.{}.{} %out, %a;", to.word, from.word);
            let (low, high) = to.range();
            check(&line, to.ty, &[from.ty], &rows, |r| to.stored(from.value(r[0]).clamp(low, high)));
        }
    }
}

#[test]
fn results_fill_wider_registers_by_their_sign() {
    let rows = product(&[&[0, 0x7f, 0x80, 0xff, 0x1234_5680]]);
    check("cvt.s8.s32 %out, %a;", B32, &[B32], &rows, |r| (r[0] as i8 as i32 as u32).into());
    check("cvt.u8.u32 %out, %a;", B32, &[B32], &rows, |r| r[0] & 0xff);
    check("cvt.s16.s32 %out, %a;", B32, &[B32], &rows, |r| (r[0] as i16 as i32 as u32).into());
    check("cvt.s8.s32 %out, %a;", B64, &[B32], &rows, |r| r[0] as i8 as i64 as u64);
    check("cvt.u32.u8 %out, %a;", B32, &[B32], &rows, |r| r[0] & 0xff);
}

#[test]
fn integers_become_floats_to_the_nearest() {
    for from in &TYPES {
        let rows: Vec<_> = INTS.iter().map(|&v| vec![cut(8 * from.ty.bytes, v)]).collect();
        let line = format!("cvt.rn.f32.{} %out, %a;", from.word);
        check(&line, F32, &[from.ty], &rows, |r| (from.value(r[0]) as f32).to_bits().into());
        let line = format!("cvt.rn.f64.{} %out, %a;", from.word);
        check(&line, F64, &[from.ty], &rows, |r| (from.value(r[0]) as f64).to_bits());
    }
}

#[test]
fn integers_become_floats_in_every_direction() {
    let rows: Vec<_> = INTS.iter().map(|&v| vec![v]).collect();
    for round in ["rz", "rm", "rp"] {
        check(&format!("cvt.{round}.f32.s64 %out, %a;"), F32, &[B64], &rows, |r| {
            let value = i128::from(r[0] as i64);
            let nearest = value as f32;
            let exact = nearest as i128;
            let moved = match round {
                "rz" if exact.abs() > value.abs() => {
                    if value > 0 {
                        nearest.next_down()
                    } else {
                        nearest.next_up()
                    }
                }
                "rm" if exact > value => nearest.next_down(),
                "rp" if exact < value => nearest.next_up(),
                _ => nearest,
            };
            moved.to_bits().into()
        });
    }
}

const FRACTIONS: &[f32] = &[
    0.25,
    0.5,
    0.75,
    1.0,
    1.5,
    2.5,
    3.5,
    126.5,
    127.5,
    128.0,
    254.5,
    255.5,
    256.0,
    32767.5,
    32768.0,
    65535.5,
    65536.0,
    8_388_607.5,
    2_147_483_520.0,
    2_147_483_648.0,
    4_294_967_040.0,
    4_294_967_296.0,
    9.223_372e18,
    1.844_674_4e19,
    1e30,
];

fn whole(x: f64, round: &str) -> f64 {
    match round {
        "rni" => x.round_ties_even(),
        "rzi" => x.trunc(),
        "rmi" => x.floor(),
        _ => x.ceil(),
    }
}

/// The rule of the ISA: clamped; NaN is 0, or the highest bit where f64 or 64 bits take part.
fn to_int(x: f64, to: &Int, round: &str, from_f64: bool) -> u64 {
    if x.is_nan() {
        let value = if from_f64 || to.bits == 64 { to.value(1 << (to.bits - 1)) } else { 0 };
        return to.stored(value);
    }
    let (low, high) = to.range();
    // `as` clamps to i128, whose range holds all others.
    to.stored((whole(x, round) as i128).clamp(low, high))
}

#[test]
fn floats_become_integers() {
    let signed = FRACTIONS.iter().flat_map(|&x| [x, -x]).map(|x| u64::from(x.to_bits()));
    let rows: Vec<_> = signed.chain(F32_EDGES.iter().copied()).map(|v| vec![v]).collect();
    let wide: Vec<_> = rows.iter().map(|r| vec![f64::from(f32::from_bits(r[0] as u32)).to_bits()]).collect();
    for round in ["rni", "rzi", "rmi", "rpi"] {
        for to in &TYPES {
            let line = format!("cvt.{round}.{}.f32 %out, %a;", to.word);
            check(&line, to.ty, &[F32], &rows, |r| to_int(f32::from_bits(r[0] as u32).into(), to, round, false));
            let line = format!("cvt.{round}.{}.f64 %out, %a;", to.word);
            check(&line, to.ty, &[F64], &wide, |r| to_int(f64::from_bits(r[0]), to, round, true));
        }
        check(&format!("cvt.{round}.f32.f32 %out, %a;"), F32, &[F32], &rows, |r| {
            let x = whole(f32::from_bits(r[0] as u32).into(), round) as f32;
            if x.is_nan() { 0x7fff_ffff } else { x.to_bits().into() }
        });
        check(&format!("cvt.{round}.f64.f64 %out, %a;"), F64, &[F64], &wide, |r| {
            let x = whole(f64::from_bits(r[0]), round);
            if x.is_nan() { r[0] | 1 << 51 } else { x.to_bits() }
        });
    }
}

fn half_as_f64(bits: u64) -> f64 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    match bits & 0x7fff {
        0x7c00 => sign * f64::INFINITY,
        0x7c01.. => f64::NAN,
        finite => sign * f16_units(finite) as f64 / f64::from(1 << 24),
    }
}

#[test]
fn every_f16_widens_exactly() {
    let rows: Vec<_> = (0..0x1_0000).map(|b| vec![b]).collect();
    let expected = |x: f64| if x.is_nan() { 0x7fff_ffff } else { u64::from((x as f32).to_bits()) };
    check("cvt.f32.f16 %out, %a;", F32, &[B16], &rows, |r| expected(half_as_f64(r[0])));
}

/// The f16 to which an f32 rounds, found among all of them.
fn narrow(x: f32, round: &str) -> u64 {
    if x.is_nan() {
        return 0x7fff;
    }
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = f64::from(x.abs());
    let value = |b: u64| if b == 0x7c00 { 65536.0 } else { half_as_f64(b) };
    let below =
        if magnitude >= 65536.0 { 0x7c00 } else { (0..0x7c00u64).rev().find(|&b| value(b) <= magnitude).unwrap() };
    if magnitude.is_infinite() {
        return sign | 0x7c00;
    }
    let away = match round {
        "rz" => false,
        "rm" => sign != 0,
        "rp" => sign == 0,
        _ => {
            below == 0x7c00 || {
                let (down, up) = (magnitude - value(below), value(below + 1) - magnitude);
                up < down || (up == down && below & 1 == 1)
            }
        }
    };
    let exact = below != 0x7c00 && value(below) == magnitude;
    let bits = match (below, exact) {
        (0x7c00, _) => {
            if away {
                0x7c00
            } else {
                0x7bff
            }
        }
        (_, true) => below,
        _ => below + u64::from(away),
    };
    sign | bits
}

#[test]
fn f32_narrows_to_f16() {
    let halves = [1u64, 2, 0x3ff, 0x400, 0x3bff, 0x3c00, 0x3c01, 0x7bfe, 0x7bff];
    let near = halves.iter().filter(|&&h| f16_is_finite(h)).flat_map(|&h| {
        let (x, next) = (half_as_f64(h) as f32, half_as_f64(h - 1) as f32);
        let middle = f32::midpoint(x, next);
        [x, middle, middle.next_up(), middle.next_down(), -x, -middle]
    });
    let extra = [65519.0, 65520.0, 65536.0, -65520.0, 1e-8, 2.98e-8, 0.1, 1e30].into_iter();
    let edges = F32_EDGES.iter().map(|&b| f32::from_bits(b as u32));
    let rows: Vec<_> = near.chain(extra).chain(edges).map(|x| vec![u64::from(x.to_bits())]).collect();
    for round in ["rn", "rz", "rm", "rp"] {
        let line = format!("cvt.{round}.f16.f32 %out, %a;");
        check(&line, B16, &[F32], &rows, |r| narrow(f32::from_bits(r[0] as u32), round));
    }
    let pairs: Vec<_> = rows.iter().zip(rows.iter().rev()).map(|(a, b)| vec![a[0], b[0]]).collect();
    check("cvt.rn.f16x2.f32 %out, %a, %b;", B32, &[F32; 2], &pairs, |r| {
        narrow(f32::from_bits(r[0] as u32), "rn") << 16 | narrow(f32::from_bits(r[1] as u32), "rn")
    });
}

#[test]
fn f32_and_f64() {
    let rows: Vec<_> = F32_EDGES.iter().map(|&v| vec![v]).collect();
    check("cvt.f64.f32 %out, %a;", F64, &[F32], &rows, |r| {
        let x = f32::from_bits(r[0] as u32);
        // Sign and payload stay; the payload's highest bit is set.
        let nan = (r[0] & 0x8000_0000) << 32 | 0x7ff8_0000_0000_0000 | (r[0] & 0x7f_ffff) << 29;
        if x.is_nan() { nan } else { f64::from(x).to_bits() }
    });
    let wide: Vec<_> =
        [0.1, -0.1, 1e-50, 1e-42, 3e38, 3.5e38, -1e300, 1.0 + 2f64.powi(-24), 1.0 + 3.0 * 2f64.powi(-24)]
            .iter()
            .map(|x| vec![f64::to_bits(*x)])
            .collect();
    check("cvt.rn.f32.f64 %out, %a;", F32, &[F64], &wide, |r| (f64::from_bits(r[0]) as f32).to_bits().into());
    check("cvt.rz.f32.f64 %out, %a;", F32, &[F64], &wide, |r| {
        let x = f64::from_bits(r[0]);
        let nearest = x as f32;
        let past = f64::from(nearest).abs() > x.abs();
        let cut = if past { f32::from_bits(nearest.to_bits() - 1) } else { nearest };
        cut.to_bits().into()
    });
    check("cvt.sat.f32.f32 %out, %a;", F32, &[F32], &rows, |r| {
        let x = f32::from_bits(r[0] as u32);
        if x.is_nan() || x <= 0.0 { 0 } else { x.min(1.0).to_bits().into() }
    });
    check("cvt.ftz.f32.f32 %out, %a;", F32, &[F32], &rows, |r| {
        let x = f32::from_bits(r[0] as u32);
        if x.is_nan() {
            0x7fff_ffff
        } else if x.is_subnormal() {
            r[0] & 0x8000_0000
        } else {
            r[0]
        }
    });
}

#[test]
fn bf16_is_the_top_of_an_f32() {
    let rows: Vec<_> = F32_EDGES.iter().map(|&v| vec![v]).collect();
    check("cvt.rn.bf16.f32 %out, %a;", B16, &[F32], &rows, |r| {
        if f32::from_bits(r[0] as u32).is_nan() {
            return 0x7fff;
        }
        let (kept, lost) = (r[0] >> 16, r[0] & 0xffff);
        kept + u64::from(lost > 0x8000 || (lost == 0x8000 && kept & 1 == 1))
    });
    let rows: Vec<_> = F32_EDGES.iter().map(|&v| vec![v >> 16]).collect();
    check("cvt.f32.bf16 %out, %a;", F32, &[B16], &rows, |r| r[0] << 16);
}
