//! Asynchronous copies from global to shared memory.
//!
//! A copy reads at once and lands when its lane waits for its group. Until then its destination counts as never
//! written, so that a kernel which forgets to wait is reported where the value is used.

use super::memory::{Group, addresses, for_groups, lanes};
use super::policy;
use super::regs::Regs;
use super::shadow::{self, File};
use super::spaces::Spaces;
use super::witness::Witness;
use crate::fault::{FaultKind, Trap};
use crate::program::{Access, AsyncCopy, Inst, LANES, Slot};
use crate::types::{Scalar, Space};

type Checked<T> = Result<T, Box<Trap>>;

/// Most bytes of one copy.
const MOST: usize = 16;

/// What the lanes of a warp have asked for in one instruction and not yet waited for.
#[derive(Debug)]
struct Batch {
    /// Lanes whose copies are under way, and those of them that have committed theirs.
    lanes: u32,
    committed: u32,
    /// The group that each lane's copy belongs to, once it is committed.
    groups: [u32; LANES],
    /// Bytes that each lane copies.
    bytes: u8,
    /// Number of the shared segment, and the place there.
    segment: u32,
    offsets: [u64; LANES],
    data: [[u8; MOST]; LANES],
    /// The bytes that were written at the source, or are filled with zeros: bit `i` for byte `i`.
    known: [u16; LANES],
    /// What is read; may not be written until it has.
    sources: Vec<Source>,
}

/// The places in one segment of global memory that copies read.
#[derive(Debug)]
struct Source {
    segment: u32,
    offsets: [u64; LANES],
    lanes: u32,
    bytes: [u8; LANES],
}

/// The copies of one warp that are under way.
#[derive(Debug)]
pub(super) struct Copies {
    pending: Vec<Batch>,
    /// Groups that each lane has committed.
    committed: [u32; LANES],
}

impl Copies {
    pub fn new() -> Self {
        Self { pending: Vec::new(), committed: [0; LANES] }
    }

    /// Forgets everything, for the next block.
    pub fn reset(&mut self) {
        self.pending.clear();
        self.committed = [0; LANES];
    }

    /// `cp.async`: a copy to `[s0 + low half of imm]` from `[s1 + high half of imm]`, of whose bytes the first `s2` are
    /// read and the others zero; without `s2`, all are read. `s3` is its cache policy, where it has one.
    pub fn start(
        &mut self,
        regs: &Regs<'_>,
        spaces: &Spaces<'_>,
        witness: &mut Witness<'_, '_>,
        inst: &Inst,
        how: AsyncCopy,
        mask: u32,
    ) -> Checked<()> {
        let to = addresses(regs, inst.s[0], how.wide_to, i64::from(inst.imm as i32), mask)?;
        let from = addresses(regs, inst.s[1], how.wide_from, inst.imm >> 32, mask)?;
        policy::check(regs, inst.s[3], mask)?;
        let read = read_sizes(regs, inst.s[2], how.bytes, mask)?;
        let (mut data, mut known) = ([[0; MOST]; LANES], [u16::MAX; LANES]);
        let mut sources = Vec::new();
        let reading = lanes(mask).fold(0, |m, l| m | u32::from(read[l] > 0) << l);
        for_groups(spaces, witness.warp, access(Space::Global, how.bytes), &from, reading, |group| {
            if witness.start_copy(&group, &read)? {
                let Group { segment, offsets, mask, .. } = group;
                sources.push(Source { segment: segment.number, offsets, lanes: mask, bytes: read });
            }
            fetch(&group, &read, &mut data, &mut known);
            Ok(())
        })?;
        for_groups(spaces, witness.warp, access(Space::Shared, how.bytes), &to, mask, |group| {
            witness.start_copy(&group, &[how.bytes; LANES])?;
            for lane in lanes(group.mask) {
                group.segment.mark_unwritten(group.offsets[lane], u32::from(how.bytes));
            }
            self.pending.push(Batch {
                lanes: group.mask,
                committed: 0,
                groups: [0; LANES],
                bytes: how.bytes,
                segment: group.segment.number,
                offsets: group.offsets,
                data,
                known,
                sources: std::mem::take(&mut sources),
            });
            Ok(())
        })
    }

    /// `cp.async.commit_group`: what each lane has asked for since its last group is its next one.
    pub fn commit(&mut self, mask: u32) {
        for batch in &mut self.pending {
            let new = batch.lanes & !batch.committed & mask;
            lanes(new).for_each(|lane| batch.groups[lane] = self.committed[lane]);
            batch.committed |= new;
        }
        lanes(mask).for_each(|lane| self.committed[lane] += 1);
    }

    /// `cp.async.wait_group`: all but the last `recent` groups of each lane land.
    pub fn wait_group(&mut self, spaces: &Spaces<'_>, witness: &mut Witness<'_, '_>, mask: u32, recent: u32) {
        let all = self.committed;
        self.land(spaces, witness, |batch| {
            let is_due = |l: usize| batch.groups[l].saturating_add(recent) < all[l];
            let due = (0..LANES).fold(0, |m, l| m | u32::from(is_due(l)) << l);
            due & batch.committed & mask
        });
    }

    /// `cp.async.wait_all`: everything lands, committed or not.
    pub fn wait_all(&mut self, spaces: &Spaces<'_>, witness: &mut Witness<'_, '_>, mask: u32) {
        self.land(spaces, witness, |_| mask);
    }

    /// Lands the copies of the lanes that are `due`.
    fn land(&mut self, spaces: &Spaces<'_>, witness: &mut Witness<'_, '_>, due: impl Fn(&Batch) -> u32) {
        self.pending.retain_mut(|batch| {
            let due = due(batch) & batch.lanes;
            if due != 0 {
                batch.land(spaces, witness, due);
                batch.lanes &= !due;
            }
            batch.lanes != 0
        });
    }
}

impl Batch {
    /// The places were checked when the copies started; segments do not move.
    fn land(&self, spaces: &Spaces<'_>, witness: &mut Witness<'_, '_>, due: u32) {
        let bytes = u32::from(self.bytes);
        let segment = &spaces.shared[self.segment as usize];
        let all = u16::MAX >> (MOST as u32 - bytes);
        for lane in lanes(due) {
            let offset = self.offsets[lane];
            for (word, at) in self.data[lane].as_chunks::<4>().0.iter().zip((0..u64::from(bytes)).step_by(4)) {
                segment.store(offset + at, 4, u64::from(u32::from_le_bytes(*word)));
            }
            if self.known[lane] & all == all {
                segment.mark_written(offset, bytes);
            } else {
                let known = (0..bytes).filter(|byte| self.known[lane] >> byte & 1 != 0);
                known.for_each(|byte| segment.mark_written(offset + u64::from(byte), 1));
            }
        }
        let group = Group { space: Space::Shared, segment, offsets: self.offsets, mask: due };
        witness.land_copy(&group, &[self.bytes; LANES]);
        for source in self.sources.iter().filter(|source| source.lanes & due != 0) {
            let segment = &spaces.global[source.segment as usize];
            let mask = source.lanes & due;
            let group = Group { space: Space::Global, segment, offsets: source.offsets, mask };
            witness.land_copy(&group, &source.bytes);
        }
    }
}

/// The accesses that a copy is made of.
fn access(space: Space, bytes: u8) -> Access {
    Access { count: bytes / 4, ..Access::plain(space, Scalar::B32) }
}

/// Reads what lanes copy, and which of its bytes are known. Memory is read only as far as `read`; zeros follow.
fn fetch(group: &Group<'_>, read: &[u8; LANES], data: &mut [[u8; MOST]; LANES], known: &mut [u16; LANES]) {
    for lane in lanes(group.mask) {
        let (offset, read) = (group.offsets[lane], u64::from(read[lane]));
        let words = data[lane].as_chunks_mut::<4>().0;
        for (word, at) in words.iter_mut().zip((0..read).step_by(4)) {
            let value = (group.segment.load(offset + at, 4) as u32).to_le_bytes();
            let wanted = (read - at).min(4) as usize;
            word[..wanted].copy_from_slice(&value[..wanted]);
        }
        if !group.segment.all_written() {
            let unknown = (0..read).filter(|byte| !group.segment.is_written(offset + byte, 1));
            unknown.for_each(|byte| known[lane] &= !(1 << byte));
        }
    }
}

/// How many bytes each lane reads.
fn read_sizes(regs: &Regs<'_>, size: Slot, bytes: u8, mask: u32) -> Checked<[u8; LANES]> {
    if size == Slot::NONE {
        return Ok([bytes; LANES]);
    }
    let unknown = mask & !regs.known32(size);
    if unknown != 0 {
        let (kind, what) = (FaultKind::UninitialisedOperand, "the number of bytes to read");
        return Err(shadow::unknown(regs, kind, File::Narrow, size, unknown, what));
    }
    let values = regs.get32(size);
    if let Some(lane) = lanes(mask).find(|&l| values[l] > u32::from(bytes)) {
        let message = format!("reads {} bytes of a copy of {bytes}", values[lane]);
        return Err(Trap::lanes(FaultKind::BadOperand, 1 << lane, message));
    }
    Ok(values.map(|v| v as u8))
}
