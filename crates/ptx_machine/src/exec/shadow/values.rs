//! The operands of an instruction as they were before it: values with their unknown bits.

use super::{Cell, File, Origin, Saved};
use crate::exec::regs::Regs;
use crate::program::{LANES, Slot};

/// One operand in all lanes.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    pub file: File,
    pub values: [u64; LANES],
    pub unknown: [u64; LANES],
    pub origin: [Origin; LANES],
}

impl Operand {
    /// The operand `s`; `saved` are the registers that the instruction has overwritten since.
    pub fn read(regs: &Regs<'_>, saved: &[Saved], file: File, s: Slot) -> Self {
        let is_register = file == File::Pred || !s.is_flagged();
        let before = saved.iter().find(|b| is_register && b.file == file && b.slot.index() == s.index());
        let (mut values, known, cell) = match before {
            Some(b) => (b.values, b.known, b.cell.as_deref()),
            None if is_register => (regs.values(file, s), regs.known(file, s), regs.shadow.cell(file, s)),
            None => (regs.values(file, s), u32::MAX, None),
        };
        if file == File::Pred && s.is_flagged() && before.is_some() {
            values = values.map(|v| v ^ 1);
        }
        let fresh = Cell::new(file);
        let cell = cell.unwrap_or(&fresh);
        let unknown = std::array::from_fn(|l| if known >> l & 1 != 0 { 0 } else { cell.bits[l] });
        Self { file, values, unknown, origin: cell.origin }
    }

    /// The lane's value with the unknown bits 0.
    pub fn low(&self, lane: usize) -> u64 {
        self.values[lane] & !self.unknown[lane]
    }

    /// The lane's value with the unknown bits 1.
    pub fn high(&self, lane: usize) -> u64 {
        self.values[lane] | self.unknown[lane]
    }
}
