//! Counts of each instruction of a launch, and the model of memory that they rest on (docs/ptx-machine.md).

use super::memory::lanes;
use super::observe::Step;
use super::regs::Regs;
use crate::profile::{Requests, SharedRequests};
use crate::program::{Access, AsyncCopy, Inst, LANES, Op, Slot};
use crate::types::Space;

/// Bytes that L1 and L2 move at once.
const SECTOR: u64 = 32;
/// Banks of shared memory, each 4 bytes wide.
const BANKS: usize = 32;

/// What one instruction has done so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counter {
    pub warps: u64,
    pub arrived: u64,
    pub executed: u64,
    pub diverged: u64,
    pub global: Requests,
    pub local: Requests,
    pub shared: SharedRequests,
}

/// A counter for each instruction of a program.
#[derive(Debug, Clone)]
pub(crate) struct Counters(pub Vec<Counter>);

/// Where the lanes of a warp access memory.
struct Lanes {
    addresses: [u64; LANES],
    mask: u32,
}

impl Counters {
    pub fn new(instructions: usize) -> Self {
        Self(vec![Counter::default(); instructions])
    }

    /// Adds what another worker counted.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.warps += theirs.warps;
            mine.arrived += theirs.arrived;
            mine.executed += theirs.executed;
            mine.diverged += theirs.diverged;
            mine.global.add(&theirs.global);
            mine.local.add(&theirs.local);
            mine.shared.add(&theirs.shared);
        }
    }

    /// Counts an instruction that is about to be executed.
    pub fn count(&mut self, step: &Step<'_>, regs: &Regs<'_>) {
        let counter = &mut self.0[step.at as usize];
        counter.warps += 1;
        counter.arrived += u64::from(step.mask.count_ones());
        counter.executed += u64::from(step.active.count_ones());
        if step.active == 0 {
            return;
        }
        match step.inst.op {
            Op::Branch(_) => counter.diverged += u64::from(step.active != step.mask),
            Op::Load(access) | Op::Store(access) | Op::Atom(access, _) => {
                counter.access(step.inst, access, step.active, regs);
            }
            Op::AsyncCopy(how) => counter.copy(step.inst, how, step.active, regs),
            _ => {}
        }
    }
}

impl Counter {
    fn access(&mut self, inst: &Inst, access: Access, active: u32, regs: &Regs<'_>) {
        let bytes = access.ty.bytes() * u32::from(access.count);
        let at = Lanes::new(regs, inst.s[4], access.wide_address, inst.imm, active);
        match access.space {
            Space::Generic => {
                for space in [Space::Global, Space::Shared, Space::Local] {
                    self.access_in(space, bytes, &at.within(space));
                }
            }
            space => self.access_in(space, bytes, &at),
        }
    }

    fn access_in(&mut self, space: Space, bytes: u32, at: &Lanes) {
        if at.mask == 0 {
            return;
        }
        match space {
            Space::Global => self.global.add(&at.sectors([u64::from(bytes); LANES])),
            Space::Local => self.local.add(&at.local_sectors(bytes)),
            Space::Shared => self.shared.add(&at.wavefronts(bytes)),
            Space::Generic | Space::Const | Space::Param => {}
        }
    }

    /// A `cp.async` reads global memory, as far as its size operand says, and writes shared memory.
    fn copy(&mut self, inst: &Inst, how: AsyncCopy, active: u32, regs: &Regs<'_>) {
        let to = Lanes::new(regs, inst.s[0], how.wide_to, i64::from(inst.imm as i32), active);
        let mut from = Lanes::new(regs, inst.s[1], how.wide_from, inst.imm >> 32, active);
        let mut sizes = [u64::from(how.bytes); LANES];
        if inst.s[2] != Slot::NONE {
            let given = regs.get32(inst.s[2]);
            for lane in lanes(active) {
                sizes[lane] = sizes[lane].min(u64::from(given[lane]));
            }
        }
        from.mask &= (0..LANES).fold(0, |mask, lane| mask | u32::from(sizes[lane] > 0) << lane);
        if from.mask != 0 {
            self.global.add(&from.sectors(sizes));
        }
        self.access_in(Space::Shared, u32::from(how.bytes), &to);
    }
}

impl Lanes {
    /// The addresses of the executing lanes. One that was never written is left out: the access is about to fault.
    fn new(regs: &Regs<'_>, base: Slot, is_wide: bool, offset: i64, active: u32) -> Self {
        let mut addresses = [0; LANES];
        for (lane, address) in addresses.iter_mut().enumerate() {
            let base = if is_wide { regs.get64(base)[lane] } else { u64::from(regs.get32(base)[lane]) };
            *address = base.wrapping_add(offset as u64);
        }
        let known = if is_wide { regs.known64(base) } else { regs.known32(base) };
        Self { addresses, mask: active & known }
    }

    /// The lanes whose generic address leads to `space`, with the addresses that they have there.
    fn within(&self, space: Space) -> Self {
        let inside = |lane: &usize| Space::of_generic(self.addresses[*lane]) == space;
        let mask = lanes(self.mask).filter(inside).fold(0, |mask, lane| mask | 1 << lane);
        Self { addresses: self.addresses.map(|a| a.wrapping_sub(space.window())), mask }
    }

    /// A request to global memory: the sectors that its lanes touch, each once, and the fewest that hold as many
    /// distinct bytes.
    fn sectors(&self, sizes: [u64; LANES]) -> Requests {
        let mut ranges: Vec<(u64, u64)> = lanes(self.mask)
            .map(|lane| (self.addresses[lane], self.addresses[lane].wrapping_add(sizes[lane])))
            .collect();
        ranges.sort_unstable();
        let (mut bytes, mut sectors) = (0, 0);
        let (mut end, mut next_sector) = (0, 0);
        for (from, to) in ranges {
            bytes += to.saturating_sub(from.max(end));
            end = end.max(to);
            let first = (from / SECTOR).max(next_sector);
            let past = to.saturating_sub(1) / SECTOR + 1;
            sectors += past.saturating_sub(first);
            next_sector = next_sector.max(past);
        }
        Requests { requests: 1, sectors, ideal_sectors: bytes.div_ceil(SECTOR), bytes }
    }

    /// A request to local memory, where the same word of all lanes lies side by side, so that eight lanes share a
    /// sector.
    fn local_sectors(&self, bytes: u32) -> Requests {
        let words = u64::from(bytes.div_ceil(4));
        let mut touched: Vec<(u64, usize)> = lanes(self.mask)
            .flat_map(|lane| (0..words).map(move |word| (word, lane)))
            .map(|(word, lane)| (self.addresses[lane] / 4 + word, lane / 8))
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let used = u64::from(bytes) * u64::from(self.mask.count_ones());
        Requests { requests: 1, sectors: touched.len() as u64, ideal_sectors: used.div_ceil(SECTOR), bytes: used }
    }

    /// A request to shared memory: 32 lanes at a time where each accesses up to 4 bytes, 16 for 8 bytes and 8 for 16.
    /// A group takes as many passes as the busiest bank has distinct words in it.
    fn wavefronts(&self, bytes: u32) -> SharedRequests {
        let together = (BANKS as u32 * 4 / bytes.max(4)).clamp(1, LANES as u32);
        let group = if together == LANES as u32 { u32::MAX } else { (1 << together) - 1 };
        let mut counted = SharedRequests { requests: 1, ..SharedRequests::default() };
        for first in (0..LANES as u32).step_by(together as usize) {
            let mask = self.mask & group << first;
            if mask != 0 {
                counted.wavefronts += self.passes(mask, bytes);
                counted.ideal_wavefronts += 1;
            }
        }
        counted
    }

    fn passes(&self, mask: u32, bytes: u32) -> u64 {
        let words = u64::from(bytes.div_ceil(4));
        let mut touched: Vec<u64> =
            lanes(mask).flat_map(|lane| (0..words).map(move |word| self.addresses[lane] / 4 + word)).collect();
        touched.sort_unstable();
        touched.dedup();
        let mut busy = [0; BANKS];
        for word in touched {
            busy[(word % BANKS as u64) as usize] += 1;
        }
        busy.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes_at(address: impl Fn(u64) -> u64, mask: u32) -> Lanes {
        Lanes { addresses: std::array::from_fn(|lane| address(lane as u64)), mask }
    }

    fn counted(requests: Requests) -> (u64, u64, u64) {
        (requests.sectors, requests.ideal_sectors, requests.bytes)
    }

    #[test]
    fn sectors_of_a_request() {
        let sectors = |address: fn(u64) -> u64, size| counted(lanes_at(address, u32::MAX).sectors([size; LANES]));
        // Side by side, shifted by one element, one address for all, one sector a lane, backwards, overlapping.
        assert_eq!(sectors(|l| 256 + 4 * l, 4), (4, 4, 128));
        assert_eq!(sectors(|l| 256 + 16 * l, 16), (16, 16, 512));
        assert_eq!(sectors(|l| 260 + 4 * l, 4), (5, 4, 128));
        assert_eq!(sectors(|_| 260, 4), (1, 1, 4));
        assert_eq!(sectors(|l| 1024 * l, 4), (32, 4, 128));
        assert_eq!(sectors(|l| 1024 - 4 * l, 4), (5, 4, 128));
        assert_eq!(sectors(|l| 256 + l / 2 * 4, 4), (2, 2, 64));
        assert_eq!(counted(lanes_at(|l| 256 + 64 * l, 0b101).sectors([2; LANES])), (2, 1, 4));
    }

    #[test]
    fn sectors_of_local_memory_interleave_the_lanes() {
        // The same word of all lanes fills four sectors; words of their own in one lane each take one.
        assert_eq!(counted(lanes_at(|_| 8, u32::MAX).local_sectors(4)), (4, 4, 128));
        assert_eq!(counted(lanes_at(|_| 16, u32::MAX).local_sectors(16)), (16, 16, 512));
        assert_eq!(counted(lanes_at(|l| 4 * l, u32::MAX).local_sectors(4)), (32, 4, 128));
    }

    #[test]
    fn wavefronts_of_a_request() {
        let passes = |address: fn(u64) -> u64, bytes| {
            let counted = lanes_at(address, u32::MAX).wavefronts(bytes);
            (counted.wavefronts, counted.ideal_wavefronts)
        };
        assert_eq!(passes(|l| 4 * l, 4), (1, 1));
        assert_eq!(passes(|_| 64, 4), (1, 1), "a broadcast");
        assert_eq!(passes(|l| 2 * l, 2), (1, 1), "two lanes a word");
        assert_eq!(passes(|l| 8 * l, 4), (2, 1));
        assert_eq!(passes(|l| 128 * l, 4), (32, 1));
        assert_eq!(passes(|l| 132 * l, 4), (1, 1), "a row of 33 words");
        assert_eq!(passes(|l| 8 * l, 8), (2, 2));
        assert_eq!(passes(|l| 16 * l, 16), (4, 4));
        assert_eq!(passes(|l| 16 * l + 1024 * (l % 2), 16), (4, 4));
        assert_eq!(passes(|l| 128 * l, 16), (32, 4));
        assert_eq!(passes(|l| 16 * (l / 8), 16), (4, 4), "a broadcast in each quarter");
        let few = lanes_at(|l| 16 * l, 0xff).wavefronts(16);
        assert_eq!((few.wavefronts, few.ideal_wavefronts), (1, 1), "quarters without lanes take no pass");
    }
}
