//! Branches, barriers and operations across the lanes of a warp.

use super::{Checked, Lower, Lowered};
use crate::ast::Operand;
use crate::program::{Barrier, BarrierVote, Inst, Op, Order, Promise, ReduxOp, ShflMode, Slot, VoteMode};
use crate::types::{Kind, Scalar};

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
            "ret" if !self.function.is_entry => Ok(Inst::new(Op::Return(Self::promise(c)))),
            "ret" | "exit" => Ok(Inst::new(Op::Exit(Self::promise(c)))),
            "trap" => Ok(Inst::new(Op::Trap)),
            "membar" | "fence" if !c.has("proxy") => {
                // A plain `fence` is one of acq_rel; membar is a synonym of fence.sc.
                let without = if c.bound.form.opcode == "fence" { Order::AcqRel } else { Order::Sc };
                let (order, scope) = Self::order(c, without);
                Ok(Inst::new(Op::Fence(order, scope)))
            }
            "griddepcontrol" if c.has("wait") => Ok(Inst::new(Op::WaitForLaunches)),
            _ => Ok(Inst::new(Op::Nop)),
        }
    }

    /// What the words of a branch, a call or a return promise.
    pub(super) fn promise(c: &Checked<'_>) -> Promise {
        if c.has("uni") { Promise::Uniform } else { Promise::None }
    }

    fn branch(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let Operand::Label(label) = Self::operand(c, 0)? else { return Err("a branch goes to a label".to_owned()) };
        let mut inst = Inst::new(Op::Branch(Self::promise(c)));
        inst.imm = i64::from(self.function.labels[*label as usize]);
        Ok(inst)
    }

    /// `brx.idx index, targets`.
    fn indexed_branch(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let Operand::Targets(list) = Self::operand(c, 1)? else { return Err("it names no .branchtargets".to_owned()) };
        let mut inst = Inst::new(Op::BranchIndexed(Self::promise(c)));
        inst.s[0] = self.src(Self::operand(c, 0)?, Scalar::U32)?;
        inst.imm = (self.targets + *list as usize) as i64;
        Ok(inst)
    }

    /// `barrier.red.popc.u32 d, id, count, p`.
    fn barrier_vote(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let vote = match () {
            () if c.has("popc") => BarrierVote::Popc,
            () if c.has("and") => BarrierVote::And,
            () => BarrierVote::Or,
        };
        let counted = c.operands.len() == 4;
        let result = if vote == BarrierVote::Popc { Scalar::U32 } else { Scalar::Pred };
        let mut inst = Inst::new(Op::BarrierVote { vote, counted });
        inst.d[0] = self.dst(Self::operand(c, 0)?, result)?;
        inst.s[0] = self.src(Self::operand(c, 1)?, Scalar::U32)?;
        if counted {
            inst.s[1] = self.src(Self::operand(c, 2)?, Scalar::U32)?;
        }
        inst.s[2] = self.src(Self::operand(c, c.operands.len() - 1)?, Scalar::Pred)?;
        Ok(inst)
    }

    /// `match`, `redux` and `elect`.
    pub(super) fn agree(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let opcode = c.bound.form.opcode.as_str();
        let ty = c.types.first().copied().unwrap_or(Scalar::B32);
        let op = match opcode {
            "match" => Op::Match { all: c.has("all"), wide: ty.bytes() == 8 },
            "elect" => Op::Elect,
            _ => Op::Redux { op: redux_op(c)?, signed: ty.kind() == Kind::Signed },
        };
        let mut inst = Inst::new(op);
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::B32)?;
        let joined = c.bound.form.operands.get(1).is_some_and(|word| word.starts_with('|'));
        if let Some(second) = c.operands.get(1).copied().flatten().filter(|_| joined) {
            inst.d[1] = self.dst(second, Scalar::Pred)?;
        }
        let first = if joined { 2 } else { 1 };
        if opcode == "elect" {
            inst.s[0] = self.src(Self::operand(c, first)?, Scalar::U32)?;
        } else {
            inst.s[0] = self.src(Self::operand(c, first)?, ty)?;
            inst.s[1] = self.src(Self::operand(c, first + 1)?, Scalar::U32)?;
        }
        Ok(inst)
    }

    fn barrier(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        if c.has("red") {
            return self.barrier_vote(c);
        }
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

fn redux_op(c: &Checked<'_>) -> Lowered<ReduxOp> {
    match c.bound.word("op") {
        Some("add") => Ok(ReduxOp::Add),
        Some("min") => Ok(ReduxOp::Min),
        Some("max") => Ok(ReduxOp::Max),
        Some("and") => Ok(ReduxOp::And),
        Some("or") => Ok(ReduxOp::Or),
        Some("xor") => Ok(ReduxOp::Xor),
        _ => Err("it names no operation".to_owned()),
    }
}
