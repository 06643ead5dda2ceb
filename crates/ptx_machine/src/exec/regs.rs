//! The registers of one warp: a value for each lane, and for each lane whether it was ever written.

use crate::program::{FULL, LANES, Program, Slot, V32, V64};

/// Register files of a warp.
#[derive(Debug)]
pub(crate) struct Regs<'p> {
    pub program: &'p Program,
    r32: Vec<V32>,
    r64: Vec<V64>,
    pred: Vec<u32>,
    /// Lanes in which each register was written.
    known32: Vec<u32>,
    known64: Vec<u32>,
    known_pred: Vec<u32>,
}

impl<'p> Regs<'p> {
    pub fn new(program: &'p Program) -> Self {
        Self {
            program,
            r32: vec![V32([0; LANES]); program.count32],
            r64: vec![V64([0; LANES]); program.count64],
            pred: vec![0; program.count_pred],
            known32: vec![0; program.count32],
            known64: vec![0; program.count64],
            known_pred: vec![0; program.count_pred],
        }
    }

    /// Forgets everything, for the next block.
    pub fn reset(&mut self) {
        self.known32.fill(0);
        self.known64.fill(0);
        self.known_pred.fill(0);
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
        merge(&mut self.pred[d.index()], value, mask);
        merge(&mut self.known_pred[d.index()], known, mask);
    }
}

/// Replaces the bits of `mask`.
#[inline(always)]
fn merge(into: &mut u32, bits: u32, mask: u32) {
    *into = (*into & !mask) | (bits & mask);
}
