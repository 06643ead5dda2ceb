//! Cache policies: they are made and checked, and do nothing, as there are no caches.

use super::memory::lanes;
use super::regs::Regs;
use super::shadow::{self, File};
use crate::fault::{FaultKind, Trap};
use crate::program::{FULL, Inst, LANES, Slot, is_policy};

type Checked<T> = Result<T, Box<Trap>>;

/// `createpolicy.fractional`: `d0 = imm`, of which the fraction `s0`, where given, gets the first priority.
pub(super) fn create(regs: &mut Regs<'_>, i: &Inst, mask: u32) -> Checked<()> {
    if i.s[0] != Slot::NONE {
        let unknown = mask & !regs.known32(i.s[0]);
        if unknown != 0 {
            let (kind, what) = (FaultKind::UninitialisedOperand, "the fraction of a cache policy");
            return Err(shadow::unknown(regs, kind, File::Narrow, i.s[0], unknown, what));
        }
        let fractions = regs.get32(i.s[0]).map(f32::from_bits);
        if let Some(lane) = lanes(mask).find(|&l| !(fractions[l] > 0.0 && fractions[l] <= 1.0)) {
            let message = format!("the fraction of a cache policy is {}; allowed: above 0, at most 1", fractions[lane]);
            return Err(Trap::lanes(FaultKind::BadOperand, 1 << lane, message));
        }
    }
    regs.set64(i.d[0], &[i.imm as u64; LANES], mask, FULL);
    Ok(())
}

/// Refuses the operand `s`, where there is one, if it is no policy.
#[inline]
pub(super) fn check(regs: &Regs<'_>, s: Slot, mask: u32) -> Checked<()> {
    if s == Slot::NONE { Ok(()) } else { must_be_one(regs, s, mask) }
}

#[inline(never)]
fn must_be_one(regs: &Regs<'_>, s: Slot, mask: u32) -> Checked<()> {
    let unknown = mask & !regs.known64(s);
    if unknown != 0 {
        let (kind, what) = (FaultKind::UninitialisedOperand, "the cache policy");
        return Err(shadow::unknown(regs, kind, File::Wide, s, unknown, what));
    }
    let values = regs.get64(s);
    match lanes(mask).find(|&l| !is_policy(values[l])) {
        None => Ok(()),
        Some(lane) => {
            let message = format!("the cache policy is {:#x}; allowed: what createpolicy gives", values[lane]);
            Err(Trap::lanes(FaultKind::BadOperand, 1 << lane, message))
        }
    }
}
