//! Asynchronous copies from global to shared memory.
//!
//! A copy reads at once and lands when its lane waits for its group. Until then its destination counts as never
//! written, so that a kernel which forgets to wait is reported where the value is used.

use super::memory::{addresses, lanes};
use super::race::CopyEnd;
use super::regs::Regs;
use super::shadow::{self, File};
use super::spaces::Spaces;
use super::witness::Witness;
use crate::fault::{FaultKind, Trap};
use crate::memory::Segment;
use crate::program::{AsyncCopy, Inst, LANES, Slot};
use crate::types::Space;

type Checked<T> = Result<T, Box<Trap>>;

/// Most bytes of one copy.
const MOST: usize = 16;

/// What a lane has asked for and not yet waited for.
#[derive(Debug, Clone, Copy)]
struct Copy {
    lane: u8,
    /// The bytes that were written at the source, or are filled with zeros: bit `i` for byte `i`.
    known: u16,
    /// The lane's group that it belongs to; `None`: not committed yet.
    group: Option<u32>,
    /// What is read, if anything is, and the place in shared memory.
    from: Option<CopyEnd>,
    to: CopyEnd,
    data: [u8; MOST],
}

/// The copies of one warp that are under way.
#[derive(Debug)]
pub(super) struct Copies {
    pending: Vec<Copy>,
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
    /// read and the others zero; without `s2`, all are read.
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
        let read = read_sizes(regs, inst.s[2], how.bytes, mask)?;
        for lane in lanes(mask) {
            let (data, known, from) = fetch(spaces, lane, from[lane], how.bytes, read[lane])?;
            let segment = locate(spaces, Space::Shared, lane, to[lane], how.bytes)?;
            let to = CopyEnd::new(Space::Shared, segment, to[lane], how.bytes);
            for end in from.iter().chain([&to]) {
                witness.start_copy(lane, *end, spaces)?;
            }
            segment.mark_unwritten(to.offset, u32::from(how.bytes));
            self.pending.push(Copy { lane: lane as u8, known, group: None, from, to, data });
        }
        Ok(())
    }

    /// `cp.async.commit_group`: what each lane has asked for since its last group is its next one.
    pub fn commit(&mut self, mask: u32) {
        for copy in self.pending.iter_mut().filter(|c| c.group.is_none() && mask >> c.lane & 1 != 0) {
            copy.group = Some(self.committed[usize::from(copy.lane)]);
        }
        lanes(mask).for_each(|lane| self.committed[lane] += 1);
    }

    /// `cp.async.wait_group`: all but the last `recent` groups of each lane land.
    pub fn wait_group(&mut self, spaces: &Spaces<'_>, witness: &mut Witness<'_, '_>, mask: u32, recent: u32) {
        let committed = self.committed;
        self.land(spaces, witness, mask, |c| c.group.is_some_and(|g| g + recent < committed[usize::from(c.lane)]));
    }

    /// `cp.async.wait_all`: everything lands, committed or not.
    pub fn wait_all(&mut self, spaces: &Spaces<'_>, witness: &mut Witness<'_, '_>, mask: u32) {
        self.land(spaces, witness, mask, |_| true);
    }

    fn land(&mut self, spaces: &Spaces<'_>, witness: &mut Witness<'_, '_>, mask: u32, due: impl Fn(&Copy) -> bool) {
        self.pending.retain(|copy| {
            if mask >> copy.lane & 1 == 0 || !due(copy) {
                return true;
            }
            // The place was checked when the copy started; shared memory does not move.
            let CopyEnd { segment, offset, bytes, .. } = copy.to;
            let segment = &spaces.shared[segment as usize];
            for (i, word) in copy.data[..bytes as usize].chunks_exact(4).enumerate() {
                let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
                segment.store(offset + 4 * i as u64, 4, u64::from(value));
            }
            for byte in (0..bytes).filter(|byte| copy.known >> byte & 1 != 0) {
                segment.mark_written(offset + u64::from(byte), 1);
            }
            for end in copy.from.iter().chain([&copy.to]) {
                witness.land_copy(usize::from(copy.lane), *end);
            }
            false
        });
    }
}

/// The segment that a copy's source or destination lies in.
fn locate<'s>(spaces: &'s Spaces<'_>, space: Space, lane: usize, address: u64, bytes: u8) -> Checked<&'s Segment> {
    // Shared and global memory are the same for all warps.
    let warp = 0;
    let Some(segment) = spaces.locate(space, warp, address, u32::from(bytes)) else {
        return Err(spaces.explain(space, warp, lane as u32, address, u32::from(bytes)));
    };
    if !address.is_multiple_of(u64::from(bytes)) {
        let message = format!("the address is no multiple of the {bytes} bytes copied");
        let lane = Some(lane as u32);
        return Err(Box::new(Trap { kind: FaultKind::Misaligned, lane, address: Some(address), message }));
    }
    Ok(segment)
}

/// The bytes that a lane copies, which of them are known, and where they were read. Memory is read only as far as
/// `read`.
fn fetch(
    spaces: &Spaces<'_>,
    lane: usize,
    from: u64,
    bytes: u8,
    read: u8,
) -> Checked<([u8; MOST], u16, Option<CopyEnd>)> {
    let mut data = [0; MOST];
    let mut known = u16::MAX;
    if read == 0 {
        return Ok((data, known, None));
    }
    let segment = locate(spaces, Space::Global, lane, from, bytes)?;
    let offset = from - segment.base;
    for (i, word) in data[..usize::from(bytes)].chunks_exact_mut(4).enumerate() {
        let at = 4 * i as u64;
        let wanted = u64::from(read).saturating_sub(at).min(4);
        let value = (segment.load(offset + at, 4) as u32).to_le_bytes();
        word[..wanted as usize].copy_from_slice(&value[..wanted as usize]);
        for byte in (at..at + wanted).filter(|byte| !segment.is_written(offset + byte, 1)) {
            known &= !(1 << byte);
        }
    }
    Ok((data, known, Some(CopyEnd::new(Space::Global, segment, from, read))))
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
