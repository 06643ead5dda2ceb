//! A kernel with all that it calls.

use super::{Inst, LANES, Slot, V32, V64};
use crate::ast::Special;
use crate::types::Space;

/// Where an instruction stands in the source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub line: u32,
    /// Byte range of its text.
    pub start: usize,
    pub end: usize,
}

/// A variable of the shared or local space, with its address there.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub name: String,
    pub address: u64,
    pub bytes: u64,
    pub align: u32,
}

/// Bytes that variables take when each follows the one before it as its alignment allows.
pub(crate) fn packed_bytes(placed: &[Placed]) -> u64 {
    placed.iter().fold(0, |end: u64, p| end.next_multiple_of(p.align.into()) + p.bytes)
}

/// What a function has of its own: it knows nothing of it when it is entered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Own {
    /// Its registers, by file: of up to 32 bits, of 64, predicates.
    pub registers: [Vec<Slot>; 3],
    /// Addresses in local memory of its variables and results.
    pub stack: Vec<u64>,
}

/// A kernel, decoded.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub insts: Vec<Inst>,
    pub places: Vec<Place>,
    pub k32: Vec<V32>,
    pub k64: Vec<V64>,
    /// Sizes of the register files.
    pub count32: usize,
    pub count64: usize,
    pub count_pred: usize,
    /// 32-bit slots that hold a special register.
    pub specials: Vec<(Special, Slot)>,
    /// 64-bit slots that hold the address of a module's `.global` variable, by its index among those.
    pub globals: Vec<(u32, Slot)>,
    pub shared: Vec<Placed>,
    /// Address and name of the dynamic shared memory.
    pub dynamic_shared: Option<Placed>,
    pub local: Vec<Placed>,
    pub params: Vec<Placed>,
    /// The slot of each register of the text, where an instruction uses it: of the kernel, then of what it calls.
    pub registers: Vec<Vec<Option<Slot>>>,
    /// What each of them has of its own, the kernel first.
    pub own: Vec<Own>,
    /// What indexed branches choose from.
    pub targets: Vec<Vec<u32>>,
    /// Some instruction has no exact definition.
    pub approximate: bool,
}

impl Program {
    /// Whether it has strong accesses to global memory, with which blocks wait for each other.
    pub fn waits_for_blocks(&self) -> bool {
        self.insts
            .iter()
            .filter_map(|i| i.op.access())
            .any(|a| a.order.is_strong() && matches!(a.space, Space::Global | Space::Generic))
    }

    /// Bytes of the host that the registers and the local memory of one warp take.
    pub fn warp_bytes(&self) -> u64 {
        let registers = size_of::<V32>() * self.count32 + size_of::<V64>() * self.count64;
        registers as u64 + packed_bytes(&self.local) * LANES as u64
    }
}
