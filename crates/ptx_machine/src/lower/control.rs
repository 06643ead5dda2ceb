//! Branches, barriers and operations across the lanes of a warp.

use super::{Checked, Lower, Lowered};
use crate::ast::Operand;
use crate::program::{Barrier, Inst, Op, Order, ShflMode, Slot, VoteMode};
use crate::types::Scalar;

impl Lower<'_, '_> {
    pub(super) fn control(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        match c.bound.form.opcode.as_str() {
            "shfl" => self.shfl(c),
            "vote" => self.vote(c),
            "activemask" => {
                let mut inst = Inst::new(Op::ActiveMask);
                inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::B32)?;
                Ok(inst)
            }
            "bar" if c.has("warp") => {
                let mut inst = Inst::new(Op::WarpSync);
                inst.s[0] = self.src(Self::operand(c, 0)?, Scalar::U32)?;
                Ok(inst)
            }
            "bar" | "barrier" => self.barrier(c),
            "bra" => self.branch(c),
            "brx" => self.indexed_branch(c),
            "ret" if !self.function.is_entry => Ok(Inst::new(Op::Return)),
            "ret" | "exit" => Ok(Inst::new(Op::Exit)),
            "trap" => Ok(Inst::new(Op::Trap)),
            "membar" | "fence" => {
                // A plain `fence` is one of acq_rel; membar is a synonym of fence.sc.
                let without = if c.bound.form.opcode == "fence" { Order::AcqRel } else { Order::Sc };
                let (order, scope) = Self::order(c, without);
                Ok(Inst::new(Op::Fence(order, scope)))
            }
            _ => Ok(Inst::new(Op::Nop)),
        }
    }

    fn branch(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let Operand::Label(label) = Self::operand(c, 0)? else { return Err("a branch goes to a label".to_owned()) };
        let mut inst = Inst::new(Op::Branch);
        inst.imm = i64::from(self.function.labels[*label as usize]);
        Ok(inst)
    }

    /// `brx.idx index, targets`.
    fn indexed_branch(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let Operand::Targets(list) = Self::operand(c, 1)? else { return Err("it names no .branchtargets".to_owned()) };
        let mut inst = Inst::new(Op::BranchIndexed);
        inst.s[0] = self.src(Self::operand(c, 0)?, Scalar::U32)?;
        inst.imm = (self.targets + *list as usize) as i64;
        Ok(inst)
    }

    fn barrier(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let kind = match () {
            () if c.has("sync") => Barrier::Sync,
            () if c.has("arrive") => Barrier::Arrive,
            () => return Err("allowed: sync, arrive, warp.sync".to_owned()),
        };
        let aligned = c.bound.form.opcode == "bar" || c.has("aligned");
        let count = c.operands.get(1).copied().flatten();
        let mut inst = Inst::new(Op::Barrier { kind, counted: count.is_some(), aligned });
        inst.s[0] = self.src(Self::operand(c, 0)?, Scalar::U32)?;
        if let Some(count) = count {
            inst.s[1] = self.src(count, Scalar::U32)?;
        }
        Ok(inst)
    }

    fn shfl(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let mode = match () {
            () if c.has("up") => ShflMode::Up,
            () if c.has("down") => ShflMode::Down,
            () if c.has("bfly") => ShflMode::Bfly,
            () => ShflMode::Idx,
        };
        let mut inst = Inst::new(Op::Shfl(mode));
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::B32)?;
        inst.d[1] = match c.operands.get(1).copied().flatten() {
            Some(operand) => self.dst(operand, Scalar::Pred)?,
            None => Slot::NONE,
        };
        for (i, slot) in inst.s.iter_mut().take(4).enumerate() {
            *slot = self.src(Self::operand(c, i + 2)?, Scalar::B32)?;
        }
        Ok(inst)
    }

    fn vote(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let mode = match () {
            () if c.has("all") => VoteMode::All,
            () if c.has("any") => VoteMode::Any,
            () if c.has("uni") => VoteMode::Uni,
            () => VoteMode::Ballot,
        };
        let mut inst = Inst::new(Op::Vote(mode));
        let result = if mode == VoteMode::Ballot { Scalar::B32 } else { Scalar::Pred };
        inst.d[0] = self.dst(Self::operand(c, 0)?, result)?;
        inst.s[0] = self.src(Self::operand(c, 1)?, Scalar::Pred)?;
        inst.s[1] = self.src(Self::operand(c, 2)?, Scalar::U32)?;
        Ok(inst)
    }
}
