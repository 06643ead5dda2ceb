//! Operations across the lanes of a warp: shuffles, votes, the warp barrier.

use super::memory::lanes;
use super::regs::Regs;
use super::shadow::{self, File};
use crate::fault::{FaultKind, Trap};
use crate::program::{FULL, Inst, LANES, ShflMode, Slot, VoteMode};

type Checked<T> = Result<T, Box<Trap>>;

/// The member mask of each executing lane, checked: it names the lane itself and only lanes that execute with it.
pub(super) fn members<'a>(regs: &'a Regs<'_>, s: Slot, mask: u32, live: u32) -> Checked<&'a [u32; LANES]> {
    known(regs, s, mask, "the member mask")?;
    let masks = regs.get32(s);
    if masks.iter().enumerate().all(|(l, &named)| mask >> l & 1 == 0 || named == mask) {
        return Ok(masks);
    }
    for l in lanes(mask) {
        let named = masks[l];
        if named >> l & 1 == 0 {
            let message = format!("the member mask {named:#010x} does not name the executing lane");
            return Err(Trap::lanes(FaultKind::AbsentLane, 1 << l, message));
        }
        let absent = named & !mask;
        if absent != 0 {
            let why =
                if absent & live == 0 { "have exited or do not exist" } else { "do not execute this instruction" };
            let message = format!("the member mask {named:#010x} names lanes {absent:#010x}, which {why}");
            return Err(Trap::lanes(FaultKind::AbsentLane, 1 << l, message));
        }
        if let Some(other) = lanes(named).find(|&o| masks[o] != named) {
            let message = format!("the member mask is {named:#010x} here and {:#010x} in lane {other}", masks[other]);
            return Err(Trap::lanes(FaultKind::AbsentLane, 1 << l, message));
        }
    }
    Ok(masks)
}

/// Refuses an operand that some lane never wrote.
fn known(regs: &Regs<'_>, s: Slot, mask: u32, what: &str) -> Checked<()> {
    let unknown = mask & !regs.known32(s);
    if unknown == 0 {
        return Ok(());
    }
    Err(shadow::unknown(regs, FaultKind::UninitialisedOperand, File::Narrow, s, unknown, what))
}

/// The lane that lane `l` reads, and whether it lies within the segment (if not, `l` reads itself).
#[inline(always)]
fn source(mode: ShflMode, l: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let first = l & segment;
    let last = first | clamp & !segment;
    let (from, inside) = match mode {
        ShflMode::Up => (l.wrapping_sub(b), l as i32 - b as i32 >= last as i32),
        ShflMode::Down => (l + b, l + b <= last),
        ShflMode::Bfly => (l ^ b, l ^ b <= last),
        ShflMode::Idx => (first | b & !segment, first | b & !segment <= last),
    };
    (if inside { from } else { l }, inside)
}

pub(super) fn shfl(regs: &mut Regs<'_>, i: &Inst, mode: ShflMode, mask: u32, live: u32) -> Checked<()> {
    known(regs, i.s[1], mask, "the lane operand")?;
    known(regs, i.s[2], mask, "the clamp operand")?;
    let masks = *members(regs, i.s[3], mask, live)?;
    let (a, b, c) = (regs.get32(i.s[0]), regs.get32(i.s[1]), regs.get32(i.s[2]));
    let known_a = regs.known32(i.s[0]);
    let mut out = [0; LANES];
    let (mut inside, mut known_out) = (0, 0);
    for l in 0..LANES {
        let (from, is_inside) = source(mode, l as u32, b[l], c[l]);
        let from = from as usize & 31;
        if mask >> l & 1 != 0 && masks[l] >> from & 1 == 0 {
            let message = format!("reads lane {from}, which the member mask {:#010x} does not name", masks[l]);
            return Err(Trap::lanes(FaultKind::AbsentLane, 1 << l, message));
        }
        out[l] = a[from];
        inside |= u32::from(is_inside) << l;
        known_out |= (known_a >> from & 1) << l;
    }
    if let Some(l) = lanes(mask & !known_out).next() {
        let from = source(mode, l as u32, b[l], c[l]).0 as usize & 31;
        return Err(reads_unknown(regs, i.s[0], l, from));
    }
    regs.set32(i.d[0], &out, mask, FULL);
    if i.d[1] != Slot::NONE {
        regs.set_pred(i.d[1], inside, mask, FULL);
    }
    Ok(())
}

/// A shuffle by which lane `l` reads a value of lane `from` that is not known.
#[cold]
fn reads_unknown(regs: &Regs<'_>, s: Slot, l: usize, from: usize) -> Box<Trap> {
    let detail = shadow::detail(regs, File::Narrow, s, from, u32::MAX.into());
    let whose = if l == from { "its own value".to_owned() } else { format!("the value of lane {from}") };
    let message = format!("reads {whose}, which was never written ({detail})");
    Trap::lanes(FaultKind::UninitialisedOperand, 1 << l, message)
}

pub(super) fn vote(regs: &mut Regs<'_>, i: &Inst, mode: VoteMode, mask: u32, live: u32) -> Checked<()> {
    let masks = *members(regs, i.s[1], mask, live)?;
    let (value, known) = (regs.pred(i.s[0]), regs.known_pred(i.s[0]));
    let mut ballots = [0; LANES];
    let (mut holds, mut known_out) = (0, 0);
    for l in lanes(mask) {
        let members = masks[l];
        let ballot = value & members;
        let verdict = match mode {
            VoteMode::All => ballot == members,
            VoteMode::Any => ballot != 0,
            VoteMode::Uni => ballot == members || ballot == 0,
            VoteMode::Ballot => false,
        };
        ballots[l] = ballot;
        holds |= u32::from(verdict) << l;
        known_out |= u32::from(known & members == members) << l;
    }
    if mode == VoteMode::Ballot {
        regs.set32(i.d[0], &ballots, mask, known_out);
    } else {
        regs.set_pred(i.d[0], holds, mask, known_out);
    }
    Ok(())
}

/// `bar.warp.sync`: all named lanes must be here. Returns the member mask of each lane.
pub(super) fn warp_sync<'a>(regs: &'a Regs<'_>, i: &Inst, mask: u32, live: u32) -> Checked<&'a [u32; LANES]> {
    members(regs, i.s[0], mask, live)
}

pub(super) fn active_mask(regs: &mut Regs<'_>, i: &Inst, mask: u32) {
    regs.set32(i.d[0], &[mask; LANES], mask, FULL);
}

/// The value of an operand that all lanes must agree on.
pub(super) fn uniform(regs: &Regs<'_>, s: Slot, mask: u32, what: &str) -> Checked<u32> {
    known(regs, s, mask, what)?;
    let values = regs.get32(s);
    let first = values[mask.trailing_zeros() as usize & 31];
    match lanes(mask).find(|&l| values[l] != first) {
        None => Ok(first),
        Some(l) => {
            let message = format!("{what} is {first} in one lane and {} in another", values[l]);
            Err(Trap::lanes(FaultKind::BadBarrier, 1 << l, message))
        }
    }
}

/// A clock that counts the instructions of the warp.
pub(super) fn clock(regs: &mut Regs<'_>, i: &Inst, wide: bool, time: u64, mask: u32) {
    if wide {
        regs.set64(i.d[0], &[time; LANES], mask, FULL);
    } else {
        regs.set32(i.d[0], &[time as u32; LANES], mask, FULL);
    }
}
