//! Functions that devices approximate. There is no exact definition: here they are computed in f64 and rounded, which
//! is within the bounds that PTX states but has a device's bits only by chance. A strict module never gets here.

use crate::program::{Approx, Float, Round};
use crate::soft::Format;

/// A function of bits of one format.
pub(super) fn approximate(format: Format, function: Approx, operands: [u64; 2]) -> u64 {
    let wide = Float::F64.format();
    // PTX ISA, `rcp.approx.ftz.f64`: of an f64 only the upper 32 bits are looked at and given.
    let is_upper = format.ftz && format.is_f64();
    let cut = |bits: u64| if is_upper { bits >> 32 << 32 } else { bits };
    let result = value(function, operands.map(|bits| f64::from_bits(wide.convert(format, cut(bits), Round::Nearest))));
    if result.is_nan() { format.nan } else { cut(format.convert(wide, result.to_bits(), Round::Nearest)) }
}

fn value(function: Approx, [x, y]: [f64; 2]) -> f64 {
    match function {
        Approx::Div if is_past_division(y) => x * 0.0 * y.signum(),
        Approx::Div | Approx::DivFull => x / y,
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

/// PTX ISA, `div.approx`: past 2^126 the reciprocal of the divisor is taken for 0.
fn is_past_division(y: f64) -> bool {
    let limit = 2f64.powi(126);
    y.abs() > limit && y.abs() < 4.0 * limit
}
