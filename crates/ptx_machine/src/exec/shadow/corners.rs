//! Instructions that move bits, or combine those at one place: run with the unknown bits all 0 and all 1, they tell by
//! themselves which bits of their result are unknown.

use super::values::Operand;
use super::{File, Saved};
use crate::exec::regs::Regs;
use crate::exec::{bits, compare, convert};
use crate::program::{FULL, Inst, LANES, Op, Slot};

/// Most operands and results of an instruction.
const OPERANDS: usize = 5;
const RESULTS: usize = 4;

/// Results of an instruction at two or more corners of its operands' ranges.
pub(super) struct Corners {
    /// Bits that are 1 at all of them, for each result and lane.
    pub all: [[u64; LANES]; RESULTS],
    /// Bits that are 1 at one of them.
    pub any: [[u64; LANES]; RESULTS],
}

impl Corners {
    /// Runs `inst` with the operands of `varied` at their lowest and their highest, at the same time or, where
    /// `each` says so, in every combination; the others are as they are.
    pub fn new(
        regs: &Regs<'_>,
        inst: &Inst,
        operands: &[Operand],
        varied: &[usize],
        each: bool,
        saved: &[Saved],
    ) -> Self {
        let mut corners = Self { all: [[u64::MAX; LANES]; RESULTS], any: [[0; LANES]; RESULTS] };
        let runs = if each { 1 << varied.len() } else { 2 };
        let slots = OPERANDS + RESULTS;
        let mut scratch = Regs::sized(regs.program, slots, slots, slots);
        let remapped = remapped(inst, operands.len());
        for run in 0..runs {
            for (i, operand) in operands.iter().enumerate() {
                let place = varied.iter().position(|&v| v == i);
                let is_high = place.map(|place| if each { run >> place & 1 != 0 } else { run != 0 });
                let values = std::array::from_fn(|l| match is_high {
                    None => operand.values[l],
                    Some(true) => operand.high(l),
                    Some(false) => operand.low(l),
                });
                put(&mut scratch, operand.file, Slot(i as u16), &values);
            }
            execute(&mut scratch, &remapped);
            for s in saved {
                corners.gather(&scratch, inst, s);
            }
        }
        corners
    }

    /// Takes in the results of one run that go to the register `saved`.
    fn gather(&mut self, scratch: &Regs<'_>, inst: &Inst, saved: &Saved) {
        let Some(d) = inst.d.iter().rposition(|&d| d == saved.slot) else { return };
        let values = scratch.values(saved.file, Slot((OPERANDS + d) as u16));
        for (l, value) in values.into_iter().enumerate() {
            self.all[d][l] &= value;
            self.any[d][l] |= value;
        }
    }
}

/// The instruction with its operands in slots 0, 1, … and its results behind them.
fn remapped(inst: &Inst, operands: usize) -> Inst {
    let mut remapped = *inst;
    for i in 0..operands {
        remapped.s[i] = Slot(i as u16);
    }
    for (i, d) in remapped.d.iter_mut().enumerate().filter(|(_, d)| **d != Slot::NONE) {
        *d = Slot((OPERANDS + i) as u16);
    }
    remapped
}

fn put(scratch: &mut Regs<'_>, file: File, slot: Slot, values: &[u64; LANES]) {
    match file {
        File::Narrow => scratch.set32(slot, &values.map(|v| v as u32), FULL, FULL),
        File::Wide => scratch.set64(slot, values, FULL, FULL),
        File::Pred => {
            let bits = values.iter().enumerate().fold(0, |m, (l, v)| m | (*v as u32 & 1) << l);
            scratch.set_pred(slot, bits, FULL, FULL);
        }
    }
}

fn execute(regs: &mut Regs<'_>, inst: &Inst) {
    match inst.op {
        Op::Cvt(_) => convert::portable(regs, inst, FULL),
        Op::Copysign(_) => compare::portable(regs, inst, FULL),
        _ => bits::portable(regs, inst, FULL),
    }
}
