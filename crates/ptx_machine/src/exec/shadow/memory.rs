//! Unknown bits on their way from and to memory, where each byte is written or not.

use super::{File, describe, values::Operand};
use crate::exec::convert::extend;
use crate::exec::memory::{Group, lanes};
use crate::exec::regs::Regs;
use crate::fault::{FaultKind, Trap};
use crate::program::{Access, Inst, LANES, Slot};

/// The file of part `part` of an access.
fn file(a: Access, part: usize) -> File {
    if a.wide >> part & 1 != 0 { File::Wide } else { File::Narrow }
}

/// All bits of the byte `b` of a value.
fn byte(b: u32) -> u64 {
    0xff << (8 * b)
}

/// Takes back what a load has made unknown of part `part` and read from bytes that were written; `known` are the lanes
/// that read no other.
#[cold]
#[inline(never)]
pub(in crate::exec) fn loaded(regs: &mut Regs<'_>, d: Slot, a: Access, part: usize, group: &Group<'_>, known: u32) {
    let bytes = a.ty.bytes();
    let keep = if a.narrow >> part & 1 != 0 { 0xffff } else { file(a, part).ones() };
    for l in lanes(group.mask & !known) {
        let at = group.offsets[l] + part as u64 * u64::from(bytes);
        let unwritten = (0..bytes).filter(|&b| !group.segment.is_written(at + u64::from(b), 1));
        let bits = unwritten.fold(0, |m, b| m | byte(b));
        regs.set_unknown(file(a, part), d, l, extend(bits, a.ty) & keep);
    }
}

/// The unknown bits of what each lane stores as part `part`.
fn stored_bits(regs: &Regs<'_>, i: &Inst, a: Access, part: usize) -> [u64; LANES] {
    let keep = u64::MAX >> (64 - 8 * a.ty.bytes());
    Operand::read(regs, &[], file(a, part), i.s[part]).unknown.map(|bits| bits & keep)
}

/// The lanes of `unknown` that store unknown bits; a fault where the group's memory is an output.
#[cold]
#[inline(never)]
pub(in crate::exec) fn stored(
    regs: &Regs<'_>,
    i: &Inst,
    a: Access,
    group: &Group<'_>,
    addresses: &[u64; LANES],
) -> Result<u32, Box<Trap>> {
    let mut all = 0;
    for part in 0..usize::from(a.count) {
        let bits = stored_bits(regs, i, a, part);
        let unknown = lanes(group.mask).fold(0, |m, l| m | u32::from(bits[l] != 0) << l);
        if unknown != 0 && !group.segment.scratch {
            let what = "stores a value that was never written";
            let shown = Some(u64::MAX >> (64 - 8 * a.ty.bytes()));
            let mut trap =
                describe::trap(regs, FaultKind::UninitialisedStore, file(a, part), i.s[part], unknown, what, shown);
            trap.address = trap.lane.map(|l| addresses[l as usize]);
            return Err(trap);
        }
        all |= unknown;
    }
    Ok(all)
}

/// Marks the bytes that lanes of `unknown` have stored unknown bits in as never written.
#[cold]
#[inline(never)]
pub(in crate::exec) fn mark(regs: &Regs<'_>, i: &Inst, a: Access, group: &Group<'_>, unknown: u32) {
    let bytes = a.ty.bytes();
    for part in 0..usize::from(a.count) {
        let bits = stored_bits(regs, i, a, part);
        for l in lanes(group.mask & unknown) {
            let at = group.offsets[l] + part as u64 * u64::from(bytes);
            for b in (0..bytes).filter(|&b| bits[l] & byte(b) != 0) {
                group.segment.mark_unwritten(at + u64::from(b), 1);
            }
        }
    }
}
