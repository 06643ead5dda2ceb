//! One warp: its program counter, the lanes that are active, and the stack of lanes that wait for the others.

mod calls;
mod uniform;
mod votes;

use super::async_copy::Copies;
use super::observe::{Observer, Step};
use super::policy;
use super::race::Detector;
use super::regs::Regs;
use super::schedule::Schedule;
use super::shadow::{self, File};
use super::spaces::Spaces;
use super::witness::Witness;
use super::{Isa, agree, atomic, bits, carry, collective, compare, convert, float, int, memory, word};
use crate::fault::{FaultKind, Trap};
use crate::program::{Barrier, BarrierVote, Inst, NO_MEETING, Op, Program, Slot};

/// Lanes that run together.
#[derive(Debug, Clone, Copy)]
struct Frame {
    pc: u32,
    /// Where they meet the lanes of the frame below.
    meeting: u32,
    mask: u32,
    /// A function was entered with it: lanes that return leave it, and every frame above it.
    is_call: bool,
}

/// Why a warp stopped running for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// All lanes have exited.
    Exited,
    /// It arrived at a block barrier: id and, where given, the number of threads.
    Barrier { kind: Barrier, id: u32, count: Option<u32>, vote: Option<Vote> },
    /// It used up its turn.
    Turn,
}

/// What the threads of a warp say at a barrier that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Vote {
    pub how: BarrierVote,
    /// Threads that say yes, and all.
    pub yes: u32,
    pub threads: u32,
}

/// Counts of one warp.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub instructions: u64,
    pub thread_instructions: u64,
    pub divergent_branches: u64,
}

#[derive(Debug)]
pub(super) struct Warp<'p> {
    pub regs: Regs<'p>,
    /// Index in the block.
    pub index: usize,
    stack: Vec<Frame>,
    copies: Copies,
    /// Lanes that have not exited.
    live: u32,
    /// The instruction being executed, or the last one.
    pub at: u32,
    pub counts: Counts,
    /// Says which side of a branch goes first; none: the one that takes it.
    schedule: Option<Schedule>,
}

/// What an instruction leads to.
enum Flow {
    Next,
    /// The stack has changed.
    Frames,
    Stop(Stop),
}

impl<'p> Warp<'p> {
    pub fn new(program: &'p Program, index: usize) -> Self {
        let (regs, copies) = (Regs::new(program), Copies::new());
        Self { regs, index, stack: Vec::new(), copies, live: 0, at: 0, counts: Counts::default(), schedule: None }
    }

    /// Starts over with these lanes and nothing written.
    pub fn start(&mut self, lanes: u32, schedule: Option<Schedule>) {
        self.schedule = schedule;
        self.regs.reset();
        self.copies.reset();
        self.live = lanes;
        self.at = 0;
        self.counts = Counts::default();
        self.stack.clear();
        self.stack.push(Frame { pc: 0, meeting: NO_MEETING, mask: lanes, is_call: false });
    }

    /// Runs until something stops the warp, for at most `turn` instructions.
    pub fn run<O: Observer>(
        &mut self,
        isa: Isa,
        spaces: &Spaces<'_>,
        mut races: Option<&mut Detector<'_>>,
        turn: u64,
        observer: &mut O,
    ) -> Result<Stop, Box<Trap>> {
        let end = self.counts.instructions + turn;
        let program = self.regs.program;
        while let Some(&Frame { pc, meeting, mask, .. }) = self.stack.last() {
            if pc == meeting || mask == 0 {
                self.stack.pop();
                continue;
            }
            let mut pc = pc;
            loop {
                if pc == meeting {
                    self.stack.pop();
                    break;
                }
                if self.counts.instructions == end {
                    self.set_pc(pc);
                    return Ok(Stop::Turn);
                }
                self.at = pc;
                let inst = &program.insts[pc as usize];
                let active = self.active(inst, mask)?;
                self.counts.instructions += 1;
                self.counts.thread_instructions += u64::from(active.count_ones());
                let step = Step { warp: self.index, at: pc, inst, mask, active };
                observer.before(&step, &self.regs);
                pc += 1;
                if matches!(inst.op, Op::Branch(_)) && active == mask {
                    pc = inst.target();
                    continue;
                }
                if active == 0 {
                    continue;
                }
                let witness = Witness { races: races.as_deref_mut(), warp: self.index, at: self.at };
                let flow = self.execute(isa, spaces, witness, inst, active, mask)?;
                observer.after(&step, &self.regs);
                match flow {
                    Flow::Next => {}
                    Flow::Frames => break,
                    Flow::Stop(stop) => {
                        self.set_pc(pc);
                        return Ok(stop);
                    }
                }
            }
        }
        Ok(Stop::Exited)
    }

    fn set_pc(&mut self, pc: u32) {
        if let Some(top) = self.stack.last_mut() {
            top.pc = pc;
        }
    }

    /// The lanes of `mask` that the instruction's guard lets through.
    #[inline]
    fn active(&self, inst: &Inst, mask: u32) -> Result<u32, Box<Trap>> {
        if inst.guard == Slot::NONE {
            return Ok(mask);
        }
        let unknown = mask & !self.regs.known_pred(inst.guard);
        if unknown != 0 {
            let kind = FaultKind::UninitialisedPredicate;
            return Err(shadow::unknown(&self.regs, kind, File::Pred, inst.guard, unknown, "the guard"));
        }
        Ok(mask & self.regs.pred(inst.guard))
    }

    #[inline(always)]
    fn execute(
        &mut self,
        isa: Isa,
        spaces: &Spaces<'_>,
        witness: Witness<'_, '_>,
        inst: &Inst,
        active: u32,
        mask: u32,
    ) -> Result<Flow, Box<Trap>> {
        let next = witness.at + 1;
        match inst.op {
            Op::Barrier { kind, counted, aligned } => self.barrier(inst, active, (kind, None), counted, aligned),
            Op::BarrierVote { vote, counted } => {
                let vote = self.vote(inst, active, vote)?;
                self.barrier(inst, active, (Barrier::Sync, Some(vote)), counted, true)
            }
            Op::Branch(promise) => {
                uniform::same_guard(promise, active, mask)?;
                self.part(active, mask, inst, next);
                Ok(Flow::Frames)
            }
            Op::BranchIndexed(promise) => {
                uniform::same_guard(promise, active, mask)?;
                self.part_by_index(active, mask, inst, next).map(|()| Flow::Frames)
            }
            Op::Call(promise) => {
                uniform::same_guard(promise, active, mask)?;
                self.call(spaces, active, inst, next);
                Ok(Flow::Frames)
            }
            Op::Return(promise) => {
                uniform::same_guard(promise, active, mask)?;
                self.give_back(active, next);
                Ok(Flow::Frames)
            }
            Op::Exit(promise) => {
                uniform::same_guard(promise, active, mask)?;
                if let Some(races) = witness.races {
                    races.exit(self.index, active);
                }
                self.exit(active, next);
                Ok(Flow::Frames)
            }
            Op::Trap => Err(Trap::lanes(FaultKind::Trap, active, "the kernel stops itself")),
            _ => self.compute(isa, spaces, witness, inst, active).map(|()| Flow::Next),
        }
    }

    /// Executes an instruction that only moves data.
    #[inline(always)]
    fn compute(
        &mut self,
        isa: Isa,
        spaces: &Spaces<'_>,
        mut witness: Witness<'_, '_>,
        inst: &Inst,
        active: u32,
    ) -> Result<(), Box<Trap>> {
        let regs = &mut self.regs;
        match inst.op {
            Op::Float(..) => isa.run(float::native, float::portable, regs, inst, active),
            Op::Cvt(_) => isa.run(convert::native, convert::portable, regs, inst, active),
            Op::Int(..) => isa.run(int::native, int::portable, regs, inst, active),
            Op::Word(op) => word::word(regs, inst, op, active),
            Op::Carry(how) => carry::carry(regs, inst, how, active),
            Op::Setp(..) | Op::Set(..) | Op::Testp(..) | Op::Copysign(_) | Op::Lop3Test { .. } => {
                isa.run(compare::native, compare::portable, regs, inst, active);
            }
            Op::Bits(..)
            | Op::PredLogic(_)
            | Op::Mov32
            | Op::Mov64
            | Op::MovPred
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Selp32
            | Op::Selp64
            | Op::Slct { .. } => {
                isa.run(bits::native, bits::portable, regs, inst, active);
            }
            Op::Load(access) => memory::load(regs, spaces, &mut witness, inst, access, active)?,
            Op::Store(access) => memory::store(regs, spaces, &mut witness, inst, access, active)?,
            Op::AsyncCopy(how) => self.copies.start(regs, spaces, &mut witness, inst, how, active)?,
            Op::AsyncCommit => self.copies.commit(active),
            Op::AsyncWait => self.copies.wait_group(spaces, &mut witness, active, inst.imm as u32),
            Op::AsyncWaitAll => self.copies.wait_all(spaces, &mut witness, active),
            Op::CreatePolicy => policy::create(regs, inst, active)?,
            Op::Atom(access, op) => atomic::atom(regs, spaces, &mut witness, inst, (access, op), active)?,
            Op::IsSpace(space) => memory::is_space(regs, inst, space, active),
            Op::Shfl(mode) => collective::shfl(regs, inst, mode, active, self.live)?,
            Op::Vote(mode) => collective::vote(regs, inst, mode, active, self.live)?,
            Op::Match { all, wide } => agree::match_lanes(regs, inst, (all, wide), active, self.live)?,
            Op::Redux { op, signed } => agree::redux(regs, inst, (op, signed), active, self.live)?,
            Op::Elect => agree::elect(regs, inst, active, self.live)?,
            Op::Clock { wide } => collective::clock(regs, inst, wide, self.counts.instructions, active),
            Op::ActiveMask => collective::active_mask(regs, inst, active),
            Op::WarpSync => {
                let masks = collective::warp_sync(regs, inst, active, self.live)?;
                if let Some(races) = witness.races {
                    races.warp_sync(self.index, masks, active);
                }
            }
            // Stores are seen at once: a fence moves no data, but it holds the host's processor to the order, too.
            Op::Fence(order, scope) => {
                std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
                if let Some(races) = witness.races {
                    races.fence(self.index, active, order, scope);
                }
            }
            Op::WaitForLaunches => {
                if let Some(races) = witness.races {
                    races.wait_for_launches(self.index, active);
                }
            }
            // No data is moved, or what the warp runs next was changed already.
            Op::Nop
            | Op::Barrier { .. }
            | Op::BarrierVote { .. }
            | Op::Branch(_)
            | Op::BranchIndexed(_)
            | Op::Call(_)
            | Op::Return(_)
            | Op::Exit(_)
            | Op::Trap => {}
        }
        if regs.shadow.is_pending() {
            shadow::refine(regs, inst, self.at);
        }
        Ok(())
    }

    /// Splits the top frame at a branch that only `taken` of its lanes take.
    fn part(&mut self, taken: u32, mask: u32, inst: &Inst, next: u32) {
        self.counts.divergent_branches += 1;
        let meeting = inst.meeting();
        let mut rest = Frame { pc: next, meeting, mask: mask & !taken, is_call: false };
        let mut first = Frame { pc: inst.target(), meeting, mask: taken, is_call: false };
        if self.schedule.as_mut().is_some_and(Schedule::coin) {
            std::mem::swap(&mut first, &mut rest);
        }
        if let Some(top) = self.stack.last_mut() {
            if top.meeting == meeting {
                // They meet where the frame ends anyway: no frame needs to wait there.
                *top = Frame { is_call: top.is_call, ..rest };
            } else {
                top.pc = meeting;
                self.stack.push(rest);
            }
        }
        self.stack.push(first);
    }

    fn exit(&mut self, lanes: u32, next: u32) {
        self.live &= !lanes;
        self.set_pc(next);
        for frame in &mut self.stack {
            frame.mask &= !lanes;
        }
    }

    fn barrier(
        &mut self,
        inst: &Inst,
        active: u32,
        (kind, vote): (Barrier, Option<Vote>),
        counted: bool,
        aligned: bool,
    ) -> Result<Flow, Box<Trap>> {
        let absent = self.live & !active;
        if absent != 0 {
            let rule = if aligned { "all lanes of a warp must" } else { "here, all lanes of a warp have to" };
            let message =
                format!("{rule} reach a barrier together; lanes {absent:#010x} have not exited and are elsewhere");
            return Err(Trap::lanes(FaultKind::DivergentBarrier, active, message));
        }
        let id = collective::uniform(&self.regs, inst.s[0], active, "the barrier's id")?;
        let threads = || collective::uniform(&self.regs, inst.s[1], active, "the barrier's thread count");
        let count = counted.then(threads).transpose()?;
        Ok(Flow::Stop(Stop::Barrier { kind, id, count, vote }))
    }
}
