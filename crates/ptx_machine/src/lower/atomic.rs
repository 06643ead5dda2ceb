//! Atomic operations.

use super::{Checked, Lower, Lowered};
use crate::ast::Operand;
use crate::program::{Access, AtomOp, Inst, Op, Order, Reach};
use crate::types::Space;

impl Lower<'_, '_> {
    /// `atom`, or `red`, which gives nothing back.
    pub(super) fn atomic(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let op = match c.bound.word("op") {
            Some("add") => AtomOp::Add,
            Some("and") => AtomOp::And,
            Some("or") => AtomOp::Or,
            Some("xor") => AtomOp::Xor,
            Some("min") => AtomOp::Min,
            Some("max") => AtomOp::Max,
            Some("inc") => AtomOp::Inc,
            Some("dec") => AtomOp::Dec,
            Some("exch") => AtomOp::Exch,
            Some("cas") => AtomOp::Cas,
            _ => return Err("it names no operation".to_owned()),
        };
        let gives = usize::from(c.bound.form.opcode == "atom");
        let space = c.bound.word("space").and_then(Space::from_word).unwrap_or(Space::Generic);
        let ty = c.ty(0)?;
        let (base, offset, wide_address) = self.address(Self::operand(c, gives)?)?;
        let (order, scope) = Self::order(c, Order::Relaxed);
        let parts = |operand: &Operand| match operand {
            Operand::Vector(parts) => parts.clone(),
            scalar => vec![scalar.clone()],
        };
        // The compared value of `cas` stands first in the text.
        let (compared, value) = if op == AtomOp::Cas { (Some(gives + 1), gives + 2) } else { (None, gives + 1) };
        let given = parts(Self::operand(c, value)?);
        let wide = if ty.bytes() == 8 { u8::MAX >> (8 - given.len()) } else { 0 };
        let narrow = if ty.bytes() == 2 { u8::MAX >> (8 - given.len()) } else { 0 };
        let count = given.len() as u8;
        let reach = if c.has("v2") || c.has("v4") { Reach::Global } else { Reach::GlobalOrShared };
        let access = Access { space, reach, ty, order, scope, non_coherent: false, count, wide, narrow, wide_address };
        let mut inst = Inst::new(Op::Atom(access, op));
        inst.s[4] = base;
        inst.imm = offset;
        for (slot, part) in inst.s.iter_mut().zip(&given) {
            *slot = self.src(part, ty)?;
        }
        if let Some(compared) = compared {
            inst.s[1] = self.src(Self::operand(c, compared)?, ty)?;
        }
        if gives == 1 {
            for (slot, part) in inst.d.iter_mut().zip(parts(Self::operand(c, 0)?)) {
                *slot = self.dst(&part, ty)?;
            }
        }
        Ok(inst)
    }
}
