//! Comparisons of integers that the known bits decide.

use super::Saved;
use super::values::Operand;
use crate::exec::bits::join;
use crate::exec::memory::lanes;
use crate::exec::regs::Regs;
use crate::program::{Cmp, CmpType, Inst, Int, Join, LANES, Op};

/// `setp`: the results that are known, one a lane.
pub(super) fn refine(regs: &mut Regs<'_>, inst: &Inst, saved: &[Saved], operands: &[Operand]) {
    let Op::Setp(cmp, CmpType::Int(ty), how) = inst.op else { return };
    let (mut holds, mut known) = (0u32, 0u32);
    for l in 0..LANES {
        let decided = decide(cmp, Range::new(&operands[0], l, ty), Range::new(&operands[1], l, ty));
        holds |= u32::from(decided == Some(true)) << l;
        known |= u32::from(decided.is_some()) << l;
    }
    let other = operands.get(2).filter(|_| how != Join::None).map_or((0, 0), |p| {
        let mask = |bits: &[u64; LANES]| (0..LANES).fold(0, |m, l| m | (bits[l] as u32 & 1) << l);
        (mask(&p.values), !mask(&p.unknown))
    });
    for s in saved {
        // The second result joins the opposite; where both go to one register, the second one stays. The values are
        // right already: what the known bits decide, the comparison has found with any others.
        let compared = if s.slot == inst.d[1] { !holds } else { holds };
        let (_, known) = join((compared, known), other, how);
        lanes(s.lanes & known).for_each(|l| regs.set_unknown(s.file, s.slot, l, 0));
    }
}

/// What an operand may be.
#[derive(Debug, Clone, Copy)]
struct Range {
    least: i128,
    most: i128,
    value: u64,
    unknown: u64,
}

impl Range {
    fn new(operand: &Operand, lane: usize, ty: Int) -> Self {
        let ones = u64::MAX >> (64 - ty.bits());
        let (value, unknown) = (operand.values[lane] & ones, operand.unknown[lane] & ones);
        let (low, high) = (value & !unknown, value | unknown);
        let sign = if ty.is_signed() { 1u64 << (ty.bits() - 1) } else { 0 };
        let read = |bits: u64| i128::from(bits & !sign) - i128::from(bits & sign);
        // The sign counts the other way round.
        let (least, most) = (low & !sign | high & sign, high & !sign | low & sign);
        Self { least: read(least), most: read(most), value, unknown }
    }

    /// Whether some bit that both know differs.
    fn differs(self, other: Self) -> bool {
        (self.value ^ other.value) & !self.unknown & !other.unknown != 0
    }
}

/// The outcome, where every value in range has the same.
fn decide(cmp: Cmp, a: Range, b: Range) -> Option<bool> {
    match cmp {
        Cmp::Eq | Cmp::Equ if a.unknown | b.unknown == 0 => Some(a.value == b.value),
        Cmp::Eq | Cmp::Equ => a.differs(b).then_some(false),
        Cmp::Ne | Cmp::Neu => decide(Cmp::Eq, a, b).map(|equal| !equal),
        Cmp::Lt | Cmp::Ltu if a.most < b.least => Some(true),
        Cmp::Lt | Cmp::Ltu if a.least >= b.most => Some(false),
        Cmp::Le | Cmp::Leu if a.most <= b.least => Some(true),
        Cmp::Le | Cmp::Leu if a.least > b.most => Some(false),
        Cmp::Gt | Cmp::Gtu => decide(Cmp::Lt, b, a),
        Cmp::Ge | Cmp::Geu => decide(Cmp::Le, b, a),
        Cmp::Num => Some(true),
        Cmp::Nan => Some(false),
        _ => None,
    }
}
