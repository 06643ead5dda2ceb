//! Loads and stores: every lane's address is checked, then all lanes are moved.

use std::sync::atomic::{Ordering, fence};

use super::convert::extend;
use super::lanes::each;
use super::policy;
use super::race::Effect;
use super::regs::Regs;
use super::shadow::{self, File};
use super::spaces::Spaces;
use super::witness::Witness;
use crate::fault::{FaultKind, Trap};
use crate::memory::Segment;
use crate::program::{Access, FULL, Inst, LANES, Order, Slot};
use crate::types::{Kind, Scalar, Space};

type Checked<T> = Result<T, Box<Trap>>;

/// The lanes of a mask, rising.
#[inline]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        (left != 0).then(|| {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            lane
        })
    })
}

/// An access whose lanes all lie in one segment.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// Never generic.
    pub space: Space,
    pub segment: &'a Segment,
    /// Byte offset of each lane in the segment's words.
    pub offsets: [u64; LANES],
    pub mask: u32,
}

pub(super) fn load(
    regs: &mut Regs<'_>,
    spaces: &Spaces<'_>,
    witness: &mut Witness<'_, '_>,
    i: &Inst,
    a: Access,
    mask: u32,
) -> Checked<()> {
    let addresses = addresses(regs, i.s[4], a.wide_address, i.imm, mask)?;
    policy::check(regs, i.s[0], mask)?;
    for_groups(spaces, witness.warp, a, &addresses, mask, |group| {
        let _held = witness.access(&group, &a, Effect::Load, None)?;
        if a.order == Order::Weak {
            load_group(regs, i, a, &group);
        } else {
            strongly(a, &group, || load_group(regs, i, a, &group));
        }
        Ok(())
    })
}

pub(super) fn store(
    regs: &Regs<'_>,
    spaces: &Spaces<'_>,
    witness: &mut Witness<'_, '_>,
    i: &Inst,
    a: Access,
    mask: u32,
) -> Checked<()> {
    let addresses = addresses(regs, i.s[4], a.wide_address, i.imm, mask)?;
    policy::check(regs, i.d[0], mask)?;
    let known = (0..usize::from(a.count)).fold(FULL, |known, part| {
        known & if a.wide >> part & 1 != 0 { regs.known64(i.s[part]) } else { regs.known32(i.s[part]) }
    });
    for_groups(spaces, witness.warp, a, &addresses, mask, |group| {
        if !group.segment.writable {
            return Err(read_only(&group, &addresses));
        }
        let is_known = group.mask & !known == 0;
        let unknown = if is_known { 0 } else { shadow::stored(regs, i, a, &group, &addresses)? };
        let same = |l: usize, m: usize| stores_same(regs, i, a, l, m);
        let _held = witness.access(&group, &a, Effect::Store, Some(&same))?;
        if a.order == Order::Weak {
            store_group(regs, i, a, &group);
        } else {
            strongly(a, &group, || store_group(regs, i, a, &group));
        }
        if unknown != 0 {
            shadow::mark(regs, i, a, &group, unknown);
        }
        Ok(())
    })
}

/// Moves the data of a strong access: 64 bits as a whole, and with the host's processor held to the order, too.
#[inline(never)]
fn strongly(a: Access, group: &Group<'_>, access: impl FnOnce()) {
    let _whole = group.segment.whole(a.ty.bytes() == 8);
    fence(Ordering::SeqCst);
    access();
    fence(Ordering::SeqCst);
}

/// What is wrong with a store to the group's memory.
#[cold]
pub(super) fn read_only(group: &Group<'_>, addresses: &[u64; LANES]) -> Box<Trap> {
    let lane = group.mask.trailing_zeros();
    let message = format!("stores to `{}`, which is read-only", group.segment.name);
    let address = Some(addresses[lane as usize & (LANES - 1)]);
    Box::new(Trap { kind: FaultKind::ReadOnly, lane: Some(lane), address, message })
}

/// Whether two lanes store the same value.
fn stores_same(regs: &Regs<'_>, i: &Inst, a: Access, l: usize, m: usize) -> bool {
    (0..usize::from(a.count)).all(|part| {
        let s = i.s[part];
        if a.wide >> part & 1 != 0 {
            regs.get64(s)[l] == regs.get64(s)[m]
        } else {
            regs.get32(s)[l] == regs.get32(s)[m]
        }
    })
}

/// The address of every lane: the base register plus a constant.
#[inline]
pub(super) fn addresses(regs: &Regs<'_>, base: Slot, is_wide: bool, offset: i64, mask: u32) -> Checked<[u64; LANES]> {
    let (mut values, known) = if is_wide {
        (*regs.get64(base), regs.known64(base))
    } else {
        (each(regs.get32(base), u64::from), regs.known32(base))
    };
    let unknown = mask & !known;
    if unknown != 0 {
        let file = if is_wide { File::Wide } else { File::Narrow };
        return Err(shadow::unknown(regs, FaultKind::UninitialisedAddress, file, base, unknown, "the address"));
    }
    for value in &mut values {
        *value = value.wrapping_add(offset as u64);
    }
    Ok(values)
}

/// Runs `f` over the lanes, grouped by the segment that they lie in; checks bounds and alignment on the way.
#[inline]
pub(super) fn for_groups(
    spaces: &Spaces<'_>,
    warp: usize,
    a: Access,
    addresses: &[u64; LANES],
    mask: u32,
    mut f: impl FnMut(Group<'_>) -> Checked<()>,
) -> Checked<()> {
    let bytes = a.ty.bytes() * u32::from(a.count);
    let low = u64::from(bytes - 1);
    let odd = addresses.iter().enumerate().fold(0, |m, (l, &x)| m | u32::from(x & low != 0) << l);
    if odd & mask != 0 {
        let lane = (odd & mask).trailing_zeros() as usize;
        return Err(misalignment(spaces, warp, a, lane, addresses[lane], bytes));
    }
    let mut left = mask;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let (space, window) = match a.space {
            Space::Generic => {
                let space = Space::of_generic(addresses[first]);
                (space, space.window())
            }
            space => (space, 0),
        };
        let address = addresses[first].wrapping_sub(window);
        let Some(segment) = spaces.locate(space, warp, address, bytes) else {
            let mut trap = spaces.explain(space, warp, first as u32, address, bytes);
            trap.address = Some(addresses[first]);
            return Err(trap);
        };
        if a.space == Space::Generic && !a.reach.holds(space) {
            return Err(out_of_reach(a, space, segment, first, addresses[first]));
        }
        let origin = segment.base.wrapping_add(window);
        // A lane before the segment wraps to a huge offset.
        let last = segment.len - u64::from(bytes);
        let lane_bytes = 4 * u64::from(segment.lane_words);
        let mut offsets = *addresses;
        let mut inside = 0;
        for (l, offset) in offsets.iter_mut().enumerate() {
            *offset = offset.wrapping_sub(origin);
            inside |= u32::from(*offset <= last) << l;
            *offset = offset.wrapping_add(lane_bytes * l as u64);
        }
        let group = inside & left;
        f(Group { space, segment, offsets, mask: group })?;
        left &= !group;
    }
    Ok(())
}

/// A generic address that leads where this kind of access may not go.
#[cold]
fn out_of_reach(a: Access, space: Space, segment: &Segment, lane: usize, address: u64) -> Box<Trap> {
    let offset = address.wrapping_sub(space.window()).wrapping_sub(segment.base);
    let (name, own, reach) = (&segment.name, space.word(), a.reach.words());
    let message = format!("such an access may go to {reach} only; the address is `{name}`+{offset} of {own} memory");
    Box::new(Trap { kind: FaultKind::WrongSpace, lane: Some(lane as u32), address: Some(address), message })
}

#[cold]
fn misalignment(spaces: &Spaces<'_>, warp: usize, a: Access, lane: usize, address: u64, bytes: u32) -> Box<Trap> {
    let space = if a.space == Space::Generic { Space::of_generic(address) } else { a.space };
    let window = if a.space == Space::Generic { space.window() } else { 0 };
    let near = crate::memory::nearest(spaces.of(space, warp), address.wrapping_sub(window));
    let message = format!("the address is no multiple of the {bytes} bytes accessed ({near})");
    Box::new(Trap { kind: FaultKind::Misaligned, lane: Some(lane as u32), address: Some(address), message })
}

/// The lanes of `mask` in which all of the access, or one part of it, was written.
#[inline]
pub(super) fn written(group: &Group<'_>, mask: u32, at: u64, bytes: u32) -> u32 {
    if group.segment.all_written() {
        return FULL;
    }
    lanes(mask).fold(0, |m, l| m | u32::from(group.segment.is_written(group.offsets[l] + at, bytes)) << l)
}

#[inline]
fn load_group(regs: &mut Regs<'_>, i: &Inst, a: Access, group: &Group<'_>) {
    let bytes = a.ty.bytes();
    let all = written(group, group.mask, 0, bytes * u32::from(a.count));
    for part in 0..u32::from(a.count) {
        let at = u64::from(part * bytes);
        let known = if all & group.mask == group.mask { all } else { written(group, group.mask, at, bytes) };
        let d = i.d[part as usize];
        if a.wide >> part & 1 != 0 {
            let mut out = [0u64; LANES];
            for l in lanes(group.mask) {
                out[l] = extend(group.segment.load(group.offsets[l] + at, bytes), a.ty);
            }
            regs.set64(d, &out, group.mask, known);
        } else {
            let mut out = [0u32; LANES];
            load32(group, at, a.ty, a.narrow >> part & 1 != 0, &mut out);
            regs.set32(d, &out, group.mask, known);
        }
        if group.mask & !known != 0 {
            shadow::loaded(regs, d, a, part as usize, group, known);
        }
    }
}

/// One part of a load into registers of up to 32 bits.
#[inline]
fn load32(group: &Group<'_>, at: u64, ty: Scalar, narrow: bool, out: &mut [u32; LANES]) {
    if ty.bytes() == 4 {
        let words = group.segment.words();
        for l in lanes(group.mask) {
            out[l] = words[((group.offsets[l] + at) / 4) as usize].load(Ordering::Relaxed);
        }
        return;
    }
    let keep = if narrow { 0xffff } else { u32::MAX };
    for l in lanes(group.mask) {
        let bits = group.segment.load(group.offsets[l] + at, ty.bytes());
        let value = if ty.kind() == Kind::Signed { extend(bits, ty) } else { bits };
        out[l] = value as u32 & keep;
    }
}

#[inline]
fn store_group(regs: &Regs<'_>, i: &Inst, a: Access, group: &Group<'_>) {
    let bytes = a.ty.bytes();
    for part in 0..u32::from(a.count) {
        let at = u64::from(part * bytes);
        let s = i.s[part as usize];
        if a.wide >> part & 1 != 0 {
            let value = regs.get64(s);
            lanes(group.mask).for_each(|l| group.segment.store(group.offsets[l] + at, bytes, value[l]));
        } else {
            let value = regs.get32(s);
            lanes(group.mask).for_each(|l| group.segment.store(group.offsets[l] + at, bytes, u64::from(value[l])));
        }
    }
    if !group.segment.all_written() {
        let total = bytes * u32::from(a.count);
        lanes(group.mask).for_each(|l| group.segment.mark_written(group.offsets[l], total));
    }
}

/// `isspacep`: whether a generic address lies in a space.
pub(super) fn is_space(regs: &mut Regs<'_>, i: &Inst, space: Space, mask: u32) {
    let known = regs.known64(i.s[0]);
    let addresses = regs.get64(i.s[0]);
    let holds = (0..LANES).fold(0, |m, l| m | u32::from(Space::of_generic(addresses[l]) == space) << l);
    regs.set_pred(i.d[0], holds, mask, known);
}
