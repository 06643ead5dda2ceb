//! Integer operations of 32 bits only, and those with a carry.

use super::arith::no_other_words;
use super::{Checked, Lower, Lowered};
use crate::program::{Carry, CarryOp, Halves, Inst, Op, WordOp};
use crate::types::{Kind, Scalar};

impl Lower<'_, '_> {
    /// The operation that the form is, if it is one of these.
    pub(super) fn word_op(c: &Checked<'_>) -> Option<WordOp> {
        let types = &c.types;
        let signed = |i: usize| types.get(i).is_some_and(|t| t.kind() == Kind::Signed);
        let high = c.has("hi");
        let halves = |op| {
            let signed = types.first() == Some(&Scalar::S16x2);
            Some(WordOp::Halves { op, signed, relu: c.has("relu") })
        };
        let of_halves = matches!(types.first(), Some(Scalar::U16x2 | Scalar::S16x2));
        match c.bound.form.opcode.as_str() {
            "add" if of_halves => halves(Halves::Add),
            "min" if of_halves => halves(Halves::Min),
            "max" if of_halves => halves(Halves::Max),
            "add" if c.has("sat") && signed(0) => Some(WordOp::AddSat),
            "sub" if c.has("sat") && signed(0) => Some(WordOp::SubSat),
            "mad" if c.has("sat") && signed(0) => Some(WordOp::MadHiSat),
            "min" if c.has("relu") && signed(0) => Some(WordOp::MinRelu),
            "max" if c.has("relu") && signed(0) => Some(WordOp::MaxRelu),
            "mad24" if c.has("sat") => Some(WordOp::Mad24HiSat),
            "mul24" | "mad24" => Some(WordOp::Mad24 { high, signed: signed(0) }),
            "dp4a" => Some(WordOp::Dp4a { a_signed: signed(0), b_signed: signed(1) }),
            "dp2a" => Some(WordOp::Dp2a { high, a_signed: signed(0), b_signed: signed(1) }),
            "bmsk" => Some(WordOp::Bmsk { wrap: c.has("wrap") }),
            "szext" => Some(WordOp::Szext { wrap: c.has("wrap"), signed: signed(0) }),
            "fns" => Some(WordOp::Fns),
            "cvt" if c.has("pack") => Some(WordOp::Pack { bits: types.first()?.bits() as u8, signed: signed(0) }),
            _ => None,
        }
    }

    /// `d0` and up to three sources behind it; one that is not there reads as 0.
    pub(super) fn word(&mut self, c: &Checked<'_>, op: WordOp) -> Lowered<Inst> {
        let known = ["lo", "hi", "sat", "relu", "wrap", "clamp", "pack"];
        no_other_words(c, &known)?;
        let mut inst = Inst::new(Op::Word(op));
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::B32)?;
        for (i, slot) in inst.s.iter_mut().take(3).enumerate() {
            *slot = match c.operands.get(i + 1).copied().flatten() {
                Some(operand) => self.src(operand, Scalar::B32)?,
                None => self.slots.constant(0, Scalar::B32),
            };
        }
        Ok(inst)
    }

    /// `add.cc`, `addc`, … ; the carry is a predicate of its own.
    pub(super) fn carry(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        no_other_words(c, &["cc", "lo", "hi"])?;
        let ty = c.ty(0)?;
        let (op, sources) = match c.bound.form.opcode.as_str() {
            "add" | "addc" => (CarryOp::Add, 2),
            "sub" | "subc" => (CarryOp::Sub, 2),
            _ if c.has("hi") => (CarryOp::MadHi, 3),
            _ => (CarryOp::MadLo, 3),
        };
        let how = Carry {
            op,
            wide: ty.bytes() == 8,
            signed: ty.kind() == Kind::Signed,
            reads: c.bound.form.opcode.ends_with('c'),
            writes: c.has("cc"),
        };
        let mut inst = self.plain(c, Op::Carry(how), ty, sources)?;
        let bit = self.slots.carry();
        if how.reads {
            inst.s[3] = bit;
        }
        if how.writes {
            inst.d[1] = bit;
        }
        Ok(inst)
    }
}
