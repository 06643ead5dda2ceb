//! Operations across the lanes of a warp that compare or join values: `match`, `redux`, `elect`.

use super::collective::members;
use super::memory::lanes;
use super::regs::Regs;
use super::shadow::File;
use crate::fault::Trap;
use crate::program::{FULL, Inst, LANES, ReduxOp, Slot};

type Checked<T> = Result<T, Box<Trap>>;

/// `d0 = ` the members with this lane's value; where `all` is asked for, all members or none, and `d1` says which.
#[inline(never)]
pub(super) fn match_lanes(
    regs: &mut Regs<'_>,
    i: &Inst,
    (all, wide): (bool, bool),
    mask: u32,
    live: u32,
) -> Checked<()> {
    let masks = *members(regs, i.s[1], mask, live)?;
    let file = if wide { File::Wide } else { File::Narrow };
    let (values, known) = (regs.values(file, i.s[0]), regs.known(file, i.s[0]));
    let mut out = [0; LANES];
    let (mut agree, mut known_out) = (0, 0);
    for l in lanes(mask) {
        let same = lanes(masks[l]).filter(|&o| values[o] == values[l]).fold(0, |m, o| m | 1u32 << o);
        let is_one = same == masks[l];
        out[l] = if all && !is_one { 0 } else { same };
        agree |= u32::from(is_one) << l;
        known_out |= u32::from(known & masks[l] == masks[l]) << l;
    }
    regs.set32(i.d[0], &out, mask, known_out);
    if i.d[1] != Slot::NONE {
        regs.set_pred(i.d[1], agree, mask, known_out);
    }
    Ok(())
}

/// `d0 = ` the values of all members joined.
#[inline(never)]
pub(super) fn redux(regs: &mut Regs<'_>, i: &Inst, (op, signed): (ReduxOp, bool), mask: u32, live: u32) -> Checked<()> {
    let masks = *members(regs, i.s[1], mask, live)?;
    let (values, known) = (*regs.get32(i.s[0]), regs.known32(i.s[0]));
    // Signed numbers order as unsigned ones do once their sign is flipped.
    let sign = if signed { 1 << 31 } else { 0u32 };
    let join = |a: u32, b: u32| match op {
        ReduxOp::Add => a.wrapping_add(b),
        ReduxOp::Min => (a ^ sign).min(b ^ sign) ^ sign,
        ReduxOp::Max => (a ^ sign).max(b ^ sign) ^ sign,
        ReduxOp::And => a & b,
        ReduxOp::Or => a | b,
        ReduxOp::Xor => a ^ b,
    };
    let mut out = [0; LANES];
    let mut known_out = 0;
    for l in lanes(mask) {
        out[l] = lanes(masks[l]).map(|o| values[o]).reduce(join).unwrap_or(0);
        known_out |= u32::from(known & masks[l] == masks[l]) << l;
    }
    regs.set32(i.d[0], &out, mask, known_out);
    Ok(())
}

/// The lowest member leads: `d0` is its number, `d1` holds in it alone.
#[inline(never)]
pub(super) fn elect(regs: &mut Regs<'_>, i: &Inst, mask: u32, live: u32) -> Checked<()> {
    let masks = *members(regs, i.s[0], mask, live)?;
    let mut leads = 0;
    let leaders = std::array::from_fn(|l| masks[l].trailing_zeros() & 31);
    for l in lanes(mask) {
        leads |= u32::from(leaders[l] == l as u32) << l;
    }
    regs.set32(i.d[0], &leaders, mask, FULL);
    regs.set_pred(i.d[1], leads, mask, FULL);
    Ok(())
}
