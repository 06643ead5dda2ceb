//! Applying a function to every lane. All 32 lanes are computed, so that the loops vectorise; inactive ones are not
//! written. The functions must therefore be total.

use super::regs::Regs;
use crate::program::{Inst, LANES, Slot};

/// A type that lies in a register.
pub(crate) trait Word: Copy {
    const ZERO: Self;
    fn load(regs: &Regs<'_>, s: Slot) -> [Self; LANES];
    fn known(regs: &Regs<'_>, s: Slot) -> u32;
    fn store(regs: &mut Regs<'_>, d: Slot, value: [Self; LANES], mask: u32, known: u32);
}

macro_rules! word {
    ($($ty:ty, $get:ident, $set:ident, $known:ident, $from:expr, $to:expr;)+) => { $(
        impl Word for $ty {
            const ZERO: Self = 0 as $ty;

            #[inline(always)]
            fn load(regs: &Regs<'_>, s: Slot) -> [Self; LANES] {
                each(regs.$get(s), $from)
            }

            #[inline(always)]
            fn known(regs: &Regs<'_>, s: Slot) -> u32 {
                regs.$known(s)
            }

            #[inline(always)]
            fn store(regs: &mut Regs<'_>, d: Slot, value: [Self; LANES], mask: u32, known: u32) {
                let mut bits = [0; LANES];
                for l in 0..LANES {
                    bits[l] = $to(value[l]);
                }
                regs.$set(d, &bits, mask, known);
            }
        }
    )+ };
}

// Values of 16 bits lie zero-extended in registers of 32.
word! {
    u16, get32, set32, known32, |x| x as u16, u32::from;
    i16, get32, set32, known32, |x| x as i16, |x| u32::from(x as u16);
    u32, get32, set32, known32, |x| x, |x| x;
    i32, get32, set32, known32, |x| x as i32, |x| x as u32;
    f32, get32, set32, known32, f32::from_bits, f32::to_bits;
    u64, get64, set64, known64, |x| x, |x| x;
    i64, get64, set64, known64, |x| x as i64, |x| x as u64;
    f64, get64, set64, known64, f64::from_bits, f64::to_bits;
}

/// `f` of every lane. A plain loop, since `array::map` stays a call where LLVM does not inline it, and is then compiled
/// without the caller's target features.
#[inline(always)]
pub(crate) fn each<A: Copy, R: Word>(a: &[A; LANES], f: impl Fn(A) -> R) -> [R; LANES] {
    let mut out = [R::ZERO; LANES];
    for l in 0..LANES {
        out[l] = f(a[l]);
    }
    out
}

/// `d0 = f(s0)`.
#[inline(always)]
pub(crate) fn map1<A: Word, R: Word>(regs: &mut Regs<'_>, i: &Inst, mask: u32, f: impl Fn(A) -> R) {
    let a = A::load(regs, i.s[0]);
    let known = A::known(regs, i.s[0]);
    R::store(regs, i.d[0], each(&a, f), mask, known);
}

/// `d0 = f(s0, s1)`.
#[inline(always)]
pub(crate) fn map2<A: Word, B: Word, R: Word>(regs: &mut Regs<'_>, i: &Inst, mask: u32, f: impl Fn(A, B) -> R) {
    let (a, b) = (A::load(regs, i.s[0]), B::load(regs, i.s[1]));
    let known = A::known(regs, i.s[0]) & B::known(regs, i.s[1]);
    let mut out = [R::ZERO; LANES];
    for l in 0..LANES {
        out[l] = f(a[l], b[l]);
    }
    R::store(regs, i.d[0], out, mask, known);
}

/// `d0 = f(s0, s1, s2)`.
#[inline(always)]
pub(crate) fn map3<A: Word, B: Word, C: Word, R: Word>(
    regs: &mut Regs<'_>,
    i: &Inst,
    mask: u32,
    f: impl Fn(A, B, C) -> R,
) {
    let (a, b, c) = (A::load(regs, i.s[0]), B::load(regs, i.s[1]), C::load(regs, i.s[2]));
    let known = A::known(regs, i.s[0]) & B::known(regs, i.s[1]) & C::known(regs, i.s[2]);
    let mut out = [R::ZERO; LANES];
    for l in 0..LANES {
        out[l] = f(a[l], b[l], c[l]);
    }
    R::store(regs, i.d[0], out, mask, known);
}

/// `d0 = f(s0, s1, s2, s3)`, for `bfi`.
#[inline(always)]
pub(crate) fn map4<A: Word, R: Word>(regs: &mut Regs<'_>, i: &Inst, mask: u32, f: impl Fn(A, A, u32, u32) -> R) {
    let (a, b) = (A::load(regs, i.s[0]), A::load(regs, i.s[1]));
    let (c, d) = (u32::load(regs, i.s[2]), u32::load(regs, i.s[3]));
    let known = A::known(regs, i.s[0]) & A::known(regs, i.s[1]) & regs.known32(i.s[2]) & regs.known32(i.s[3]);
    let mut out = [R::ZERO; LANES];
    for l in 0..LANES {
        out[l] = f(a[l], b[l], c[l], d[l]);
    }
    R::store(regs, i.d[0], out, mask, known);
}

/// The lanes in which `f(a, b)` holds.
#[inline(always)]
pub(crate) fn lanes2<A: Copy>(a: &[A; LANES], b: &[A; LANES], f: impl Fn(A, A) -> bool) -> u32 {
    let mut mask = 0;
    for l in 0..LANES {
        mask |= u32::from(f(a[l], b[l])) << l;
    }
    mask
}

/// Two versions of an instruction family: one that may use AVX2 and FMA, and one that any host runs.
macro_rules! versions {
    ($run:ident) => {
        /// For hosts without the instructions, and to check the other version.
        pub(crate) fn portable(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
            $run::<crate::fma::Portable>(regs, i, mask);
        }

        /// For hosts that [`super::has_native`] is true of.
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt"))]
        pub(crate) fn native(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
            $run::<crate::fma::Native>(regs, i, mask);
        }
    };
}
pub(crate) use versions;
