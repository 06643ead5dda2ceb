//! Functions that devices approximate. There is no exact definition: here they are computed in f64 and rounded, which
//! is within the bounds that PTX states but has a device's bits only by chance. A strict module never gets here.

use super::lanes::{map1, map2};
use super::regs::Regs;
use crate::program::{Approx, Float, Inst};

pub(super) fn approximate(regs: &mut Regs<'_>, i: &Inst, mask: u32, function: Approx, float: Float) {
    match (function, float) {
        (Approx::Div, Float::F64) => map2(regs, i, mask, |a: f64, b: f64| a / b),
        (Approx::Div, _) => map2(regs, i, mask, |a: f32, b: f32| a / b),
        (_, Float::F64) => map1(regs, i, mask, |a: f64| value(function, a)),
        _ => map1(regs, i, mask, |a: f32| value(function, f64::from(a)) as f32),
    }
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
