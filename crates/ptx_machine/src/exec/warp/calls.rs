//! Calls, returns, and branches with many targets.

use super::{Frame, Warp, uniform};
use crate::exec::memory::lanes;
use crate::exec::schedule::Schedule;
use crate::exec::shadow::{self, File};
use crate::exec::spaces::Spaces;
use crate::fault::{FaultKind, Trap};
use crate::program::{Inst, NO_MEETING, Op, Own, Promise};
use crate::types::Space;

impl Warp<'_> {
    /// Lanes enter a function; they, and those that do not call, go on at `next` when all have come back.
    #[inline(never)]
    pub(super) fn call(&mut self, spaces: &Spaces<'_>, active: u32, inst: &Inst, next: u32) {
        self.forget(spaces, active, &self.regs.program.own[inst.callee()]);
        self.set_pc(next);
        self.stack.push(Frame { pc: inst.target(), meeting: NO_MEETING, mask: active, is_call: true });
    }

    /// What a function has of its own is unknown to it, whatever an earlier call left there.
    fn forget(&mut self, spaces: &Spaces<'_>, active: u32, own: &Own) {
        for (file, slots) in [File::Narrow, File::Wide, File::Pred].into_iter().zip(&own.registers) {
            for &slot in slots {
                self.regs.forget(file, slot, active);
            }
        }
        for &address in &own.stack {
            if let Some(segment) = spaces.locate(Space::Local, self.index, address, 0) {
                lanes(active).for_each(|lane| segment.forget_lane(lane));
            }
        }
    }

    /// Lanes leave the innermost function that they are in; the others of their frame go on at `next`.
    #[inline(never)]
    pub(super) fn give_back(&mut self, active: u32, next: u32) {
        self.set_pc(next);
        for frame in self.stack.iter_mut().rev() {
            frame.mask &= !active;
            if frame.is_call {
                break;
            }
        }
    }

    /// Splits the top frame by the targets of its lanes.
    #[inline(never)]
    pub(super) fn part_by_index(&mut self, active: u32, mask: u32, inst: &Inst, next: u32) -> Result<(), Box<Trap>> {
        let unknown = active & !self.regs.known32(inst.s[0]);
        if unknown != 0 {
            let (kind, what) = (FaultKind::UninitialisedPredicate, "the index of a branch");
            return Err(shadow::unknown(&self.regs, kind, File::Narrow, inst.s[0], unknown, what));
        }
        let targets = &self.regs.program.targets[inst.target() as usize];
        let indices = self.regs.get32(inst.s[0]);
        if inst.op == Op::BranchIndexed(Promise::Uniform) {
            uniform::same_index(indices, active)?;
        }
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for lane in lanes(active) {
            let Some(&target) = targets.get(indices[lane] as usize) else {
                let message = format!("index {} of a branch with {} targets", indices[lane], targets.len());
                return Err(Trap::lanes(FaultKind::BadOperand, 1 << lane, message));
            };
            match groups.iter_mut().find(|(pc, _)| *pc == target) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => groups.push((target, 1 << lane)),
            }
        }
        if active != mask {
            groups.push((next, mask & !active));
        }
        if self.schedule.as_mut().is_some_and(Schedule::coin) {
            groups.reverse();
        }
        self.enter(&groups, inst.meeting());
        Ok(())
    }

    /// Replaces the top frame's lanes by groups that meet again.
    fn enter(&mut self, groups: &[(u32, u32)], meeting: u32) {
        if let [(pc, _)] = groups {
            self.set_pc(*pc);
            return;
        }
        self.counts.divergent_branches += 1;
        let mut frames = groups.iter().map(|&(pc, mask)| Frame { pc, meeting, mask, is_call: false });
        if let Some(top) = self.stack.last_mut() {
            if top.meeting == meeting {
                // They meet where the frame ends anyway: no frame needs to wait there.
                let is_call = top.is_call;
                frames.next().into_iter().for_each(|first| *top = Frame { is_call, ..first });
            } else {
                top.pc = meeting;
            }
        }
        self.stack.extend(frames);
    }
}
