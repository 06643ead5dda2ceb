//! `atom` and `red`: lane by lane, each whole. Of lanes that meet at one place, the lowest goes first.

use super::memory::{Group, addresses, for_groups, read_only, written};
use super::race::Effect;
use super::regs::Regs;
use super::shadow::{self, File};
use super::spaces::Spaces;
use super::witness::Witness;
use crate::exec::convert::extend;
use crate::exec::memory::lanes;
use crate::fault::{FaultKind, Trap};
use crate::program::{Access, AtomOp, FULL, Float, Inst, LANES, Round, Slot};
use crate::types::{Kind, Scalar, Space};

type Checked<T> = Result<T, Box<Trap>>;

/// To `d` the old values of `[s4 + imm]`, and there what the operation makes of them and `s`.
#[inline(never)]
pub(super) fn atom(
    regs: &mut Regs<'_>,
    spaces: &Spaces<'_>,
    witness: &mut Witness<'_, '_>,
    i: &Inst,
    (a, op): (Access, AtomOp),
    mask: u32,
) -> Checked<()> {
    let addresses = addresses(regs, i.s[4], a.wide_address, i.imm, mask)?;
    if op == AtomOp::Cas {
        let file = if a.wide & 1 != 0 { File::Wide } else { File::Narrow };
        let unknown = mask & !regs.known(file, i.s[1]);
        if unknown != 0 {
            let what = "what the old value is compared with";
            return Err(shadow::unknown(regs, FaultKind::UninitialisedOperand, file, i.s[1], unknown, what));
        }
    }
    for_groups(spaces, witness.warp, a, &addresses, mask, |group| {
        if !group.segment.writable {
            return Err(read_only(&group, &addresses));
        }
        let unknown = shadow::stored(regs, i, a, &group, &addresses)?;
        let _held = witness.access(&group, &a, Effect::Atomic, None)?;
        for part in 0..usize::from(a.count) {
            update(regs, i, (a, op), part, &group, unknown, &addresses)?;
        }
        Ok(())
    })
}

/// One part of the operation; a scalar has one. `unknown` are lanes with an operand that is not known.
fn update(
    regs: &mut Regs<'_>,
    i: &Inst,
    (a, op): (Access, AtomOp),
    part: usize,
    group: &Group<'_>,
    unknown: u32,
    addresses: &[u64; LANES],
) -> Checked<()> {
    let bytes = a.ty.bytes();
    let at = part as u64 * u64::from(bytes);
    let file = if a.wide >> part & 1 != 0 { File::Wide } else { File::Narrow };
    let operands =
        [regs.values(file, i.s[part]), if op == AtomOp::Cas { regs.values(file, i.s[1]) } else { [0; LANES] }];
    let rule = Rule { op, ty: a.ty, in_global: group.space == Space::Global };
    let mut old = [0u64; LANES];
    let mut known = FULL;
    for lane in lanes(group.mask) {
        let offset = group.offsets[lane] + at;
        let was_written = written(group, 1 << lane, at, bytes) >> lane & 1 == 1;
        old[lane] = group.segment.update(offset, bytes, |old| rule.apply(old, operands[0][lane], operands[1][lane]));
        let depends = op != AtomOp::Exch;
        if !was_written {
            known &= !(1 << lane);
            if depends && !group.segment.scratch {
                let message = "an atomic operation on memory that was never written";
                let mut trap = Trap::lanes(FaultKind::UninitialisedStore, 1 << lane, message);
                trap.address = Some(addresses[lane]);
                return Err(trap);
            }
        }
        let is_known = unknown >> lane & 1 == 0 && (was_written || !depends);
        if is_known {
            group.segment.mark_written(offset, bytes);
        } else {
            group.segment.mark_unwritten(offset, bytes);
        }
    }
    let d = i.d[part];
    if d == Slot::NONE {
        return Ok(());
    }
    if file == File::Wide {
        regs.set64(d, &old, group.mask, known);
    } else {
        regs.set32(d, &old.map(|x| x as u32), group.mask, known);
    }
    Ok(())
}

/// An operation on values of one type.
#[derive(Clone, Copy)]
struct Rule {
    op: AtomOp,
    ty: Scalar,
    in_global: bool,
}

impl Rule {
    /// The new value; none where memory is left as it is.
    fn apply(self, old: u64, b: u64, compare: u64) -> Option<u64> {
        let keep = u64::MAX >> (64 - self.ty.bits());
        let (old, b) = (old & keep, b & keep);
        match self.op {
            AtomOp::Add => Some(self.sum(old, b) & keep),
            AtomOp::And => Some(old & b),
            AtomOp::Or => Some(old | b),
            AtomOp::Xor => Some(old ^ b),
            AtomOp::Min => Some(if self.is_less(b, old) { b } else { old }),
            AtomOp::Max => Some(if self.is_less(old, b) { b } else { old }),
            AtomOp::Inc => Some(if old >= b { 0 } else { old + 1 }),
            AtomOp::Dec => Some(if old == 0 || old > b { b } else { old - 1 }),
            AtomOp::Exch => Some(b),
            AtomOp::Cas => (old == compare & keep).then_some(b),
        }
    }

    fn is_less(self, a: u64, b: u64) -> bool {
        match self.ty.kind() {
            Kind::Signed => (extend(a, self.ty) as i64) < (extend(b, self.ty) as i64),
            _ => a < b,
        }
    }

    fn sum(self, a: u64, b: u64) -> u64 {
        let Some(float) = Float::of(self.ty) else { return a.wrapping_add(b) };
        let format = float.format();
        // Units beside global memory add f64 there: as measured (sm_90), they give a NaN as it stands, the operand's
        // before the old value's. In shared memory it is the thread that adds, and the old value is its second operand.
        let kept = [b, a].into_iter().find(|&x| format.is_nan(x));
        if let (Scalar::F64, true, Some(nan)) = (self.ty, self.in_global, kept) {
            return nan;
        }
        // As the ISA has it of f32: subnormal numbers are flushed in global memory and kept in shared memory.
        let ftz = self.ty == Scalar::F32 && self.in_global;
        let add = |a: u64, b: u64| {
            let flush = |x: u64| if ftz { format.flush(x) } else { x };
            flush(format.add(flush(b), flush(a), Round::Nearest))
        };
        if self.ty.kind() == Kind::Packed {
            add(a & 0xffff, b & 0xffff) | add(a >> 16, b >> 16) << 16
        } else {
            add(a, b)
        }
    }
}
