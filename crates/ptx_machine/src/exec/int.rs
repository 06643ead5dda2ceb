//! Integer arithmetic, wrapping.

use super::lanes::{map1, map2, map3, versions};
use super::regs::Regs;
use crate::fma::Fma;
use crate::program::{Inst, Int, IntOp, Op};

versions!(run);

#[inline(always)]
fn run<F: Fma>(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    let Op::Int(op, ty) = i.op else { return };
    match ty {
        Int::U16 => u16_ops(regs, i, mask, op),
        Int::S16 => i16_ops(regs, i, mask, op),
        Int::U32 => u32_ops(regs, i, mask, op),
        Int::S32 => i32_ops(regs, i, mask, op),
        Int::U64 => u64_ops(regs, i, mask, op),
        Int::S64 => i64_ops(regs, i, mask, op),
    }
}

/// The operations on one type; `$double` has twice its bits, `$wide` is the register type of `mul.wide`.
macro_rules! ops {
    ($name:ident, $t:ty, $unsigned:ty, $double:ty, $wide:ty) => {
        #[inline(always)]
        fn $name(regs: &mut Regs<'_>, i: &Inst, mask: u32, op: IntOp) {
            type T = $t;
            let high = |a: T, b: T| ((a as $double * b as $double) >> T::BITS) as T;
            let wide = |a: T, b: T| (a as $wide).wrapping_mul(b as $wide);
            match op {
                IntOp::Add => map2(regs, i, mask, |a: T, b: T| a.wrapping_add(b)),
                IntOp::Sub => map2(regs, i, mask, |a: T, b: T| a.wrapping_sub(b)),
                IntOp::MulLo => map2(regs, i, mask, |a: T, b: T| a.wrapping_mul(b)),
                IntOp::MulHi => map2(regs, i, mask, high),
                IntOp::MulWide => map2(regs, i, mask, wide),
                IntOp::MadLo => map3(regs, i, mask, |a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)),
                IntOp::MadHi => map3(regs, i, mask, |a: T, b: T, c: T| high(a, b).wrapping_add(c)),
                IntOp::MadWide => map3(regs, i, mask, |a: T, b: T, c: $wide| wide(a, b).wrapping_add(c)),
                // PTX leaves division by zero open; devices give all ones, and the dividend as remainder.
                IntOp::Div => map2(regs, i, mask, |a: T, b: T| if b == 0 { !0 } else { a.wrapping_div(b) }),
                IntOp::Rem => map2(regs, i, mask, |a: T, b: T| if b == 0 { a } else { a.wrapping_rem(b) }),
                IntOp::Min => map2(regs, i, mask, |a: T, b: T| a.min(b)),
                IntOp::Max => map2(regs, i, mask, |a: T, b: T| a.max(b)),
                IntOp::Neg => map1(regs, i, mask, |a: T| (0 as T).wrapping_sub(a)),
                IntOp::Abs => map1(regs, i, mask, |a: T| a.max((0 as T).wrapping_sub(a))),
                IntOp::Sad => map3(regs, i, mask, |a: T, b: T, c: T| c.wrapping_add(a.abs_diff(b) as T)),
            }
        }
    };
}

ops!(u16_ops, u16, u16, u32, u32);
ops!(i16_ops, i16, u16, i32, i32);
ops!(u32_ops, u32, u32, u64, u64);
ops!(i32_ops, i32, u32, i64, i64);
ops!(u64_ops, u64, u64, u128, u64);
ops!(i64_ops, i64, u64, i128, i64);
