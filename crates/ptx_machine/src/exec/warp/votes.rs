//! Barriers that count the predicates of their threads.

use super::{Vote, Warp};
use crate::exec::shadow::{self, File};
use crate::fault::{FaultKind, Trap};
use crate::program::{BarrierVote, FULL, Inst, LANES, Op};

impl Warp<'_> {
    /// What this warp's threads say.
    #[inline(never)]
    pub(super) fn vote(&self, inst: &Inst, active: u32, how: BarrierVote) -> Result<Vote, Box<Trap>> {
        let unknown = active & !self.regs.known_pred(inst.s[2]);
        if unknown != 0 {
            let (kind, what) = (FaultKind::UninitialisedOperand, "the predicate of a barrier");
            return Err(shadow::unknown(&self.regs, kind, File::Pred, inst.s[2], unknown, what));
        }
        let yes = (self.regs.pred(inst.s[2]) & active).count_ones();
        Ok(Vote { how, yes, threads: active.count_ones() })
    }

    /// Ends the wait at a barrier that counts: what all threads there say together.
    pub fn answer(&mut self, all: Vote) {
        let inst = self.regs.program.insts[self.at as usize];
        if !matches!(inst.op, Op::BarrierVote { .. }) {
            return;
        }
        let holds = |is: bool| if is { FULL } else { 0 };
        match all.how {
            BarrierVote::Popc => self.regs.set32(inst.d[0], &[all.yes; LANES], self.live, FULL),
            BarrierVote::And => self.regs.set_pred(inst.d[0], holds(all.yes == all.threads), self.live, FULL),
            BarrierVote::Or => self.regs.set_pred(inst.d[0], holds(all.yes > 0), self.live, FULL),
        }
    }
}
