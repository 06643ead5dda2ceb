//! Reports of unknown values.

use super::values::Operand;
use super::{File, Origin};
use crate::exec::regs::Regs;
use crate::fault::{FaultKind, Trap};
use crate::program::{Op, Slot};

/// Refuses the operand `s` in the lanes of `mask`, where it is not known.
#[cold]
#[inline(never)]
pub(in crate::exec) fn unknown(
    regs: &Regs<'_>,
    kind: FaultKind,
    file: File,
    s: Slot,
    mask: u32,
    what: &str,
) -> Box<Trap> {
    let what = format!("{what} depends on a value that was never written");
    trap(regs, kind, file, s, mask, &what, None)
}

/// A fault in the lanes of `mask` whose message ends with which bits of `s` are unknown, of those in `shown`, and since
/// when.
pub(super) fn trap(
    regs: &Regs<'_>,
    kind: FaultKind,
    file: File,
    s: Slot,
    mask: u32,
    what: &str,
    shown: Option<u64>,
) -> Box<Trap> {
    let lane = mask.trailing_zeros() as usize & 31;
    let detail = detail(regs, file, s, lane, shown.unwrap_or(file.ones()));
    Trap::lanes(kind, mask, format!("{what} ({detail})"))
}

/// Which bits of a lane are unknown, and since when.
pub(in crate::exec) fn detail(regs: &Regs<'_>, file: File, s: Slot, lane: usize, shown: u64) -> String {
    let operand = Operand::read(regs, &[], file, s);
    let bits = operand.unknown[lane] & shown;
    let what = match file {
        File::Pred => String::new(),
        _ if bits == shown => "all bits unknown, ".to_owned(),
        _ => format!("bits {bits:#x} unknown, "),
    };
    let program = regs.program;
    let place =
        |at: u32| (program.insts.get(at as usize).map(|i| i.op), program.places.get(at as usize).map_or(0, |p| p.line));
    match operand.origin[lane] {
        Origin::Nowhere => format!("{what}of a register that nothing was written to"),
        Origin::At(at) => match place(at) {
            (Some(Op::Load(_)), line) => format!("{what}loaded on line {line}"),
            (_, line) => format!("{what}computed on line {line}"),
        },
    }
}
