//! Which bits of a register no one knows, as in Valgrind's memcheck (Seward and Nethercote, USENIX 2005).
//!
//! The register files keep one bit a lane: known, or not. That is all that runs where every value is known. A lane that
//! is not known has here, in a file made when it is first needed, a mask of its unknown bits and where they come from.
//! An instruction marks all bits of such a result as unknown; [`refine`] then takes back those that are known all the
//! same. An instruction without a rule of its own keeps them all, which is always safe.

mod carries;
mod compares;
mod corners;
mod describe;
mod memory;
mod operands;
mod rules;
mod values;

pub(super) use describe::{detail, unknown};
pub(super) use memory::{loaded, mark, stored};
pub(super) use rules::refine;

use crate::program::{LANES, Slot};

/// A register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum File {
    Narrow,
    Wide,
    Pred,
}

impl File {
    /// All bits of a register.
    pub fn ones(self) -> u64 {
        match self {
            File::Narrow => u32::MAX.into(),
            File::Wide => u64::MAX,
            File::Pred => 1,
        }
    }
}

/// Where an unknown value was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In no place: the register was never written.
    Nowhere,
    /// By the instruction with this index: a load of bytes that were never written, or one that hides where its
    /// operands come from.
    At(u32),
}

/// What is unknown of one register; of no meaning in lanes that are known.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub bits: [u64; LANES],
    pub origin: [Origin; LANES],
}

impl Cell {
    /// That of a register that was never written.
    fn new(file: File) -> Self {
        Self { bits: [file.ones(); LANES], origin: [Origin::Nowhere; LANES] }
    }

    /// The same for some lanes.
    fn clear(&mut self, file: File, lanes: u32) {
        for l in super::memory::lanes(lanes) {
            self.bits[l] = file.ones();
            self.origin[l] = Origin::Nowhere;
        }
    }
}

/// A register as it was before the instruction that made it unknown.
#[derive(Debug)]
pub(crate) struct Saved {
    pub file: File,
    pub slot: Slot,
    pub values: [u64; LANES],
    pub known: u32,
    pub cell: Option<Box<Cell>>,
    /// The lanes whose new value is not known.
    pub lanes: u32,
}

/// The unknown bits of a warp's registers.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    cells: [Vec<Option<Box<Cell>>>; 3],
    /// Registers that the instruction under way made unknown.
    saved: Vec<Saved>,
}

impl Shadow {
    /// Whether the last instruction made something unknown.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        !self.saved.is_empty()
    }

    /// Forgets everything, for the next block.
    pub fn reset(&mut self) {
        self.cells.iter_mut().for_each(Vec::clear);
        self.saved.clear();
    }

    /// What is unknown of a register, where some lane ever was.
    pub fn cell(&self, file: File, slot: Slot) -> Option<&Cell> {
        self.cells[file as usize].get(slot.index())?.as_deref()
    }

    /// The same, made where there was none.
    pub fn cell_mut(&mut self, file: File, slot: Slot) -> &mut Cell {
        let cells = &mut self.cells[file as usize];
        if cells.len() <= slot.index() {
            cells.resize(slot.index() + 1, None);
        }
        cells[slot.index()].get_or_insert_with(|| Box::new(Cell::new(file)))
    }

    /// Makes all bits of some lanes unknown, and keeps what the register was until [`refine`] has run.
    pub fn spoil(&mut self, file: File, slot: Slot, lanes: u32, values: [u64; LANES], known: u32) {
        if let Some(saved) = self.saved.iter_mut().find(|s| s.file == file && s.slot == slot) {
            saved.lanes |= lanes;
        } else {
            let cell = self.cell(file, slot).cloned().map(Box::new);
            self.saved.push(Saved { file, slot, values, known, cell, lanes });
        }
        self.cell_mut(file, slot).clear(file, lanes);
    }

    /// Makes lanes of a register unknown in all bits, as one that was never written.
    pub fn forget(&mut self, file: File, slot: Slot, lanes: u32) {
        if let Some(Some(cell)) = self.cells[file as usize].get_mut(slot.index()) {
            cell.clear(file, lanes);
        }
    }

    /// Ends the instruction: what it made unknown.
    fn take(&mut self) -> Vec<Saved> {
        std::mem::take(&mut self.saved)
    }
}
