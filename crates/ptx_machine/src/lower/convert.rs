//! Conversions between types and between address spaces.

use super::arith::no_other_words;
use super::{Checked, Lower, Lowered};
use crate::ast::Operand;
use crate::program::{Cvt, Float, Inst, Int, IntOp, Op, Round};
use crate::types::{Kind, Scalar, Space};

/// Whether an integer type has every value of another.
pub(super) fn holds_all(to: Scalar, from: Scalar) -> bool {
    match (to.kind(), from.kind()) {
        (Kind::Unsigned, Kind::Unsigned) | (Kind::Signed, Kind::Signed) => to.bytes() >= from.bytes(),
        (Kind::Signed, Kind::Unsigned) => to.bytes() > from.bytes(),
        _ => false,
    }
}

impl Lower<'_, '_> {
    pub(super) fn cvt(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let (to, from) = (c.ty(0)?, c.ty(1)?);
        no_other_words(
            c,
            &["rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "rna", "ftz", "sat", "relu", "satfinite"],
        )?;
        if to.kind() == Kind::Pred || from.kind() == Kind::Pred {
            return Err(format!("a conversion from {from} to {to} has no semantics here"));
        }
        if c.has("sat") && holds_all(to, from) {
            return Err(format!("{to} holds every {from}, so that .sat is not allowed"));
        }
        let word = c.bound.words.iter().flatten().find(|w| Round::from_word(w).is_some());
        let integral = word.is_some_and(|w| w.ends_with('i'));
        let round = word.and_then(|w| Round::from_word(w)).unwrap_or(Round::Nearest);
        if integral && Float::of(from).is_none() {
            return Err("only floats are rounded to whole numbers".to_owned());
        }
        let (d, s) = (Self::operand(c, 0)?, Self::operand(c, 1)?);
        let cvt = Cvt {
            to,
            from,
            round,
            integral,
            ftz: c.has("ftz"),
            sat: c.has("sat"),
            relu: c.has("relu"),
            satfinite: c.has("satfinite"),
            to_wide: self.operand_bytes(d, to) == 8,
            from_wide: self.operand_bytes(s, from) == 8,
            to_narrow: self.operand_bytes(d, to) == 2,
        };
        let mut inst = Inst::new(Op::Cvt(cvt));
        inst.d[0] = self.dst(d, to)?;
        inst.s[0] = self.src(s, from)?;
        if c.operands.len() > 2 {
            // Two sources, the first of which becomes the high half.
            inst.s[1] = self.src(Self::operand(c, 2)?, from)?;
        }
        Ok(inst)
    }

    pub(super) fn address_conversion(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let space = c.bound.words.iter().flatten().find_map(|w| Space::from_word(w)).ok_or("it names no space")?;
        if c.bound.form.opcode == "isspacep" {
            let mut inst = Inst::new(Op::IsSpace(space));
            inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::Pred)?;
            inst.s[0] = self.src(Self::operand(c, 1)?, Scalar::U64)?;
            return Ok(inst);
        }
        let space = if space == Space::Param && !self.function.is_entry { Space::Local } else { space };
        if c.ty(0)?.bytes() != 8 {
            return Err("addresses have 64 bits".to_owned());
        }
        let op = if c.has("to") { IntOp::Sub } else { IntOp::Add };
        let mut inst = Inst::new(Op::Int(op, Int::U64));
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::U64)?;
        inst.s[0] = match Self::operand(c, 1)? {
            Operand::Symbol(symbol, _) if self.address_space(*symbol) != space => {
                return Err(format!(
                    "the variable is in {} memory, not {}",
                    self.address_space(*symbol).word(),
                    space.word()
                ));
            }
            Operand::Symbol(symbol, 0) => self.symbol(*symbol),
            other => self.src(other, Scalar::U64)?,
        };
        inst.s[1] = self.slots.constant(space.window(), Scalar::U64);
        Ok(inst)
    }
}
