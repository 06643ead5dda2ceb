//! Functions that devices approximate. There is no exact definition: here they are computed in f64 and rounded, which
//! is within the bounds that PTX states but has a device's bits only by chance. A strict module never gets here.

use super::lanes::{map1, map2};
use super::regs::Regs;
use crate::program::{Approx, Float, Inst, Round, Shape};

pub(super) fn approximate(regs: &mut Regs<'_>, i: &Inst, mask: u32, function: Approx, shape: Shape) {
    match (function, shape) {
        (Approx::Div, Shape::One(Float::F64)) => map2(regs, i, mask, |a: f64, b: f64| a / b),
        (Approx::Div, _) => map2(regs, i, mask, |a: f32, b: f32| a / b),
        (_, Shape::One(Float::F64)) => map1(regs, i, mask, |a: f64| value(function, a)),
        (_, Shape::One(float @ (Float::F16 | Float::Bf16))) => {
            map1(regs, i, mask, |a: u16| narrow(function, float, a));
        }
        (_, Shape::Pair16(float)) => map1(regs, i, mask, |a: u32| {
            let half = |bits: u32| u32::from(narrow(function, float, bits as u16));
            half(a) | half(a >> 16) << 16
        }),
        _ => map1(regs, i, mask, |a: f32| value(function, f64::from(a)) as f32),
    }
}

/// The function of an f16 or bf16, by way of f64, which has every value of both.
fn narrow(function: Approx, float: Float, bits: u16) -> u16 {
    let (own, wide) = (float.format(), Float::F64.format());
    let result = value(function, f64::from_bits(wide.convert(own, u64::from(bits), Round::Nearest)));
    own.convert(wide, result.to_bits(), Round::Nearest) as u16
}

fn value(function: Approx, x: f64) -> f64 {
    match function {
        Approx::Div => x,
        Approx::Rcp => 1.0 / x,
        Approx::Sqrt => x.sqrt(),
        Approx::Rsqrt => 1.0 / x.sqrt(),
        Approx::Ex2 => x.exp2(),
        Approx::Lg2 => x.log2(),
        Approx::Sin => x.sin(),
        Approx::Cos => x.cos(),
        Approx::Tanh => x.tanh(),
    }
}
