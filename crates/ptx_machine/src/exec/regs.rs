//! The registers of one warp: a value for each lane, and for each lane whether it was ever written.

use super::shadow::{File, Shadow};
use crate::program::{FULL, LANES, Program, Slot, V32, V64};

/// Register files of a warp.
#[derive(Debug)]
pub(crate) struct Regs<'p> {
    pub program: &'p Program,
    r32: Vec<V32>,
    r64: Vec<V64>,
    pred: Vec<u32>,
    /// Lanes in which each register is known, all bits of it.
    known32: Vec<u32>,
    known64: Vec<u32>,
    known_pred: Vec<u32>,
    /// Which bits of the other lanes are not.
    pub shadow: Shadow,
}

impl<'p> Regs<'p> {
    /// The registers of a program.
    pub fn new(program: &'p Program) -> Self {
        Self::sized(program, program.count32, program.count64, program.count_pred)
    }

    /// So many registers of each file.
    pub fn sized(program: &'p Program, count32: usize, count64: usize, count_pred: usize) -> Self {
        Self {
            program,
            r32: vec![V32([0; LANES]); count32],
            r64: vec![V64([0; LANES]); count64],
            pred: vec![0; count_pred],
            known32: vec![0; count32],
            known64: vec![0; count64],
            known_pred: vec![0; count_pred],
            shadow: Shadow::default(),
        }
    }

    /// Forgets everything, for the next block.
    pub fn reset(&mut self) {
        self.known32.fill(0);
        self.known64.fill(0);
        self.known_pred.fill(0);
        self.shadow.reset();
    }

    #[inline(always)]
    pub fn get32(&self, s: Slot) -> &[u32; LANES] {
        if s.is_flagged() { &self.program.k32[s.index()].0 } else { &self.r32[s.index()].0 }
    }

    #[inline(always)]
    pub fn get64(&self, s: Slot) -> &[u64; LANES] {
        if s.is_flagged() { &self.program.k64[s.index()].0 } else { &self.r64[s.index()].0 }
    }

    #[inline(always)]
    pub fn known32(&self, s: Slot) -> u32 {
        if s.is_flagged() { FULL } else { self.known32[s.index()] }
    }

    #[inline(always)]
    pub fn known64(&self, s: Slot) -> u32 {
        if s.is_flagged() { FULL } else { self.known64[s.index()] }
    }

    #[inline(always)]
    pub fn set32(&mut self, d: Slot, value: &[u32; LANES], mask: u32, known: u32) {
        if mask & !known != 0 {
            self.spoil(File::Narrow, d, mask & !known);
        }
        let register = &mut self.r32[d.index()].0;
        if mask == FULL {
            *register = *value;
        } else {
            for i in 0..LANES {
                register[i] = if mask >> i & 1 != 0 { value[i] } else { register[i] };
            }
        }
        merge(&mut self.known32[d.index()], known, mask);
    }

    #[inline(always)]
    pub fn set64(&mut self, d: Slot, value: &[u64; LANES], mask: u32, known: u32) {
        if mask & !known != 0 {
            self.spoil(File::Wide, d, mask & !known);
        }
        let register = &mut self.r64[d.index()].0;
        if mask == FULL {
            *register = *value;
        } else {
            for i in 0..LANES {
                register[i] = if mask >> i & 1 != 0 { value[i] } else { register[i] };
            }
        }
        merge(&mut self.known64[d.index()], known, mask);
    }

    /// A predicate as a mask of lanes; flagged: negated.
    #[inline(always)]
    pub fn pred(&self, s: Slot) -> u32 {
        let value = self.pred[s.index()];
        if s.is_flagged() { !value } else { value }
    }

    #[inline(always)]
    pub fn known_pred(&self, s: Slot) -> u32 {
        self.known_pred[s.index()]
    }

    #[inline(always)]
    pub fn set_pred(&mut self, d: Slot, value: u32, mask: u32, known: u32) {
        if mask & !known != 0 {
            self.spoil(File::Pred, d, mask & !known);
        }
        merge(&mut self.pred[d.index()], value, mask);
        merge(&mut self.known_pred[d.index()], known, mask);
    }

    /// Makes all bits of these lanes unknown, before they are written.
    #[cold]
    #[inline(never)]
    fn spoil(&mut self, file: File, d: Slot, lanes: u32) {
        let (values, known) = (self.values(file, d), self.known(file, d));
        self.shadow.spoil(file, d, lanes, values, known);
    }

    /// The value of every lane, zero-extended; a predicate as 0 or 1.
    pub fn values(&self, file: File, s: Slot) -> [u64; LANES] {
        match file {
            File::Narrow => self.get32(s).map(u64::from),
            File::Wide => *self.get64(s),
            File::Pred => std::array::from_fn(|l| u64::from(self.pred(s) >> l & 1)),
        }
    }

    /// The lanes in which all bits are known.
    pub fn known(&self, file: File, s: Slot) -> u32 {
        match file {
            File::Narrow => self.known32(s),
            File::Wide => self.known64(s),
            File::Pred => self.known_pred(s),
        }
    }

    /// Makes these lanes as if nothing was ever written to them.
    pub fn forget(&mut self, file: File, d: Slot, lanes: u32) {
        let known = match file {
            File::Narrow => &mut self.known32,
            File::Wide => &mut self.known64,
            File::Pred => &mut self.known_pred,
        };
        known[d.index()] &= !lanes;
        self.shadow.forget(file, d, lanes);
    }

    /// Says which bits of a lane that was just made unknown are so; none makes it known.
    pub fn set_unknown(&mut self, file: File, d: Slot, lane: usize, bits: u64) {
        self.shadow.cell_mut(file, d).bits[lane] = bits;
        if bits == 0 {
            let known = match file {
                File::Narrow => &mut self.known32,
                File::Wide => &mut self.known64,
                File::Pred => &mut self.known_pred,
            };
            known[d.index()] |= 1 << lane;
        }
    }
}

/// Replaces the bits of `mask`.
#[inline(always)]
fn merge(into: &mut u32, bits: u32, mask: u32) {
    *into = (*into & !mask) | (bits & mask);
}
