//! What of a result is known although some of its operands is not.

use super::corners::Corners;
use super::operands::files;
use super::values::Operand;
use super::{Origin, Saved, carries, compares};
use crate::exec::memory::lanes;
use crate::exec::regs::Regs;
use crate::program::{BitOp, Cvt, FULL, Inst, Int, IntOp, LANES, Op, Shape, Slot, VoteMode};
use crate::types::{Kind, Scalar};

/// How the unknown bits of a result follow from those of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// One unknown bit makes all of the result unknown.
    All,
    /// Where memory was read says it ([`super::loaded`]).
    Loaded,
    /// Each bit of the result is some bit of the first so many operands, or its opposite, or constant. Where one of
    /// the others (how far to shift, which byte) is not known, nothing is.
    Moved(usize),
    /// Each bit of the result depends on the bits at its place, and on predicates.
    Joined,
    /// The result rises, or falls, with every bit of its operand: above the highest bit in which its ends differ, it is
    /// known.
    Ranged,
    /// The result is made of parts of so many bits, each from the operands' parts at its place.
    Parts(u32),
    /// The first operand becomes the upper 16 bits, the second the lower.
    Halves,
    /// Integer sums and products.
    Carried(IntOp, Int),
    Compared,
    /// The bit of each lane is that lane's predicate.
    Ballot,
}

/// The rule of an instruction; one that is not listed has none of its own.
fn rule(op: Op) -> Rule {
    match op {
        Op::Load(_) => Rule::Loaded,
        Op::Mov32 | Op::Mov64 | Op::Unpack { .. } => Rule::Moved(1),
        Op::Pack { count, .. } => Rule::Moved(usize::from(count)),
        Op::Bits(op, _) => bits(op),
        Op::Slct { .. } | Op::Copysign(_) => Rule::Moved(2),
        Op::Selp32 | Op::Selp64 => Rule::Joined,
        Op::Cvt(cvt) if cvt.is_pair() => Rule::Halves,
        Op::Cvt(cvt) if is_move(&cvt) => Rule::Moved(1),
        Op::Int(op, ty) => Rule::Carried(op, ty),
        Op::Float(_, Shape::Pair16(_), _) => Rule::Parts(16),
        Op::Float(_, Shape::Pair32, _) => Rule::Parts(32),
        Op::Setp(..) => Rule::Compared,
        Op::Vote(VoteMode::Ballot) => Rule::Ballot,
        _ => Rule::All,
    }
}

fn bits(op: BitOp) -> Rule {
    match op {
        BitOp::And | BitOp::Or | BitOp::Xor | BitOp::Lop3 { .. } => Rule::Joined,
        BitOp::Not | BitOp::Brev | BitOp::Shl | BitOp::Shr | BitOp::Bfe => Rule::Moved(1),
        BitOp::Bfi | BitOp::Shf { .. } | BitOp::Prmt(_) => Rule::Moved(2),
        BitOp::Cnot | BitOp::Clz | BitOp::Popc => Rule::Ranged,
        BitOp::Bfind { .. } => Rule::All,
    }
}

/// Whether a conversion copies bits and extends the sign.
fn is_move(cvt: &Cvt) -> bool {
    let is_integer = |ty: Scalar| matches!(ty.kind(), Kind::Unsigned | Kind::Signed | Kind::Bits);
    is_integer(cvt.to) && is_integer(cvt.from) && !cvt.sat
}

/// Takes back what the instruction `at` has made unknown and is not.
#[cold]
#[inline(never)]
pub(in crate::exec) fn refine(regs: &mut Regs<'_>, inst: &Inst, at: u32) {
    let saved = regs.shadow.take();
    let sources = files(inst.op).into_iter().zip(inst.s).take_while(|(_, s)| *s != Slot::NONE);
    let mut operands: Vec<Operand> = sources.map(|(file, s)| Operand::read(regs, &saved, file, s)).collect();
    trim(inst.op, &mut operands);
    match rule(inst.op) {
        Rule::All | Rule::Loaded => {}
        Rule::Moved(count) => {
            let data: Vec<usize> = (0..count).collect();
            let corners = Corners::new(regs, inst, &operands, &data, false, &saved);
            apply_corners(regs, inst, &saved, &corners, selected(&operands[count..]), |differ| differ);
        }
        Rule::Joined => {
            let data: Vec<usize> = (0..operands.len()).collect();
            let corners = Corners::new(regs, inst, &operands, &data, true, &saved);
            apply_corners(regs, inst, &saved, &corners, FULL, |differ| differ);
        }
        Rule::Ranged => {
            let corners = Corners::new(regs, inst, &operands, &[0], false, &saved);
            apply_corners(regs, inst, &saved, &corners, FULL, up_to_highest);
        }
        Rule::Parts(width) => apply(regs, &saved, |l| parts(&operands, l, width)),
        Rule::Halves => {
            apply(regs, &saved, |l| all_if(operands[0].unknown[l], 16) << 16 | all_if(operands[1].unknown[l], 16));
        }
        Rule::Carried(op, ty) => apply(regs, &saved, |l| carries::unknown(op, ty, &operands, l)),
        Rule::Compared => compares::refine(regs, inst, &saved, &operands),
        Rule::Ballot => {
            let unknown = (0..LANES).fold(0, |m, l| m | operands[0].unknown[l] << l);
            apply(regs, &saved, |l| unknown & operands[1].values[l]);
        }
    }
    set_origins(regs, &saved, &operands, at);
}

/// Narrow registers lie zero-extended in 32 bits: what is above their parts is known.
fn trim(op: Op, operands: &mut [Operand]) {
    if let Op::Pack { part, .. } = op {
        let keep = u64::MAX >> (64 - u32::from(part));
        operands.iter_mut().flat_map(|o| &mut o.unknown).for_each(|bits| *bits &= keep);
    }
}

/// The lanes in which all of the operands are known.
fn selected(operands: &[Operand]) -> u32 {
    (0..LANES).fold(0, |m, l| m | u32::from(operands.iter().all(|o| o.unknown[l] == 0)) << l)
}

/// Sets the unknown bits of every result that was made unknown.
pub(super) fn apply(regs: &mut Regs<'_>, saved: &[Saved], unknown: impl Fn(usize) -> u64) {
    for s in saved {
        for l in lanes(s.lanes) {
            regs.set_unknown(s.file, s.slot, l, unknown(l) & s.file.ones());
        }
    }
}

fn apply_corners(
    regs: &mut Regs<'_>,
    inst: &Inst,
    saved: &[Saved],
    corners: &Corners,
    mask: u32,
    unknown: impl Fn(u64) -> u64,
) {
    for s in saved {
        let Some(d) = inst.d.iter().rposition(|&d| d == s.slot) else { continue };
        for l in lanes(s.lanes & mask) {
            regs.set_unknown(s.file, s.slot, l, unknown(corners.any[d][l] & !corners.all[d][l]));
        }
    }
}

/// All bits up to the highest one.
fn up_to_highest(bits: u64) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> bits.leading_zeros() }
}

/// All of `width` bits, if one of them is unknown.
fn all_if(unknown: u64, width: u32) -> u64 {
    if unknown == 0 { 0 } else { u64::MAX >> (64 - width) }
}

fn parts(operands: &[Operand], lane: usize, width: u32) -> u64 {
    let unknown = operands.iter().fold(0, |m, o| m | o.unknown[lane]);
    let keep = u64::MAX >> (64 - width);
    (0..64 / width).fold(0, |m, k| m | all_if(unknown >> (k * width) & keep, width) << (k * width))
}

/// Says where what is unknown comes from: where the first unknown operand does, or from the instruction itself.
fn set_origins(regs: &mut Regs<'_>, saved: &[Saved], operands: &[Operand], at: u32) {
    for s in saved {
        for l in lanes(s.lanes) {
            let from = operands.iter().find(|o| o.unknown[l] != 0).map(|o| o.origin[l]);
            regs.shadow.cell_mut(s.file, s.slot).origin[l] = from.unwrap_or(Origin::At(at));
        }
    }
}
