//! Places in the register files: registers, constants, special registers.

use std::collections::HashMap;

use crate::ast::{RegisterId, Special};
use crate::literal::Immediate;
use crate::program::{LANES, Program, Slot, V32, V64};
use crate::types::{Kind, Scalar};

/// A register file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum File {
    Narrow,
    Wide,
    Pred,
}

fn file(ty: Scalar) -> File {
    match ty.bytes() {
        0 => File::Pred,
        8 => File::Wide,
        _ => File::Narrow,
    }
}

/// Gives out slots as operands are met.
#[derive(Debug)]
pub(super) struct Slots {
    /// Of each body; the last is that of the one being lowered.
    registers: Vec<Vec<Option<Slot>>>,
    counts: [usize; 3],
    constants: HashMap<(File, u64), Slot>,
    k32: Vec<V32>,
    k64: Vec<V64>,
    sinks: HashMap<File, Slot>,
    specials: Vec<(Special, Slot)>,
    globals: Vec<(u32, Slot)>,
    carry: Option<Slot>,
}

impl Slots {
    pub fn new() -> Self {
        Self {
            registers: Vec::new(),
            counts: [0; 3],
            constants: HashMap::new(),
            k32: Vec::new(),
            k64: Vec::new(),
            sinks: HashMap::new(),
            specials: Vec::new(),
            globals: Vec::new(),
            carry: None,
        }
    }

    /// A new slot. Past [`Slot::MAX`] the number wraps, and [`Slots::finish`] refuses the program.
    fn fresh(&mut self, file: File) -> Slot {
        let count = &mut self.counts[file as usize];
        *count += 1;
        Slot((*count - 1) as u16 & !Slot::FLAG)
    }

    /// The slots of a body's registers, where an instruction uses them.
    pub fn registers_of(&self, body: usize) -> &[Option<Slot>] {
        &self.registers[body]
    }

    /// Starts the next body, with so many registers.
    pub fn begin(&mut self, registers: usize) {
        self.registers.push(vec![None; registers]);
    }

    pub fn register(&mut self, id: RegisterId, ty: Scalar) -> Slot {
        let body = self.registers.len() - 1;
        if let Some(slot) = self.registers[body][id as usize] {
            return slot;
        }
        let slot = self.fresh(file(ty));
        self.registers[body][id as usize] = Some(slot);
        slot
    }

    /// Where a value of type `ty` goes that no one reads.
    pub fn sink(&mut self, ty: Scalar) -> Slot {
        let file = file(ty);
        if let Some(&slot) = self.sinks.get(&file) {
            return slot;
        }
        let slot = self.fresh(file);
        self.sinks.insert(file, slot);
        slot
    }

    pub fn special(&mut self, special: Special) -> Slot {
        if let Some((_, slot)) = self.specials.iter().find(|(s, _)| *s == special) {
            return *slot;
        }
        let slot = self.fresh(if special.bits() == 64 { File::Wide } else { File::Narrow });
        self.specials.push((special, slot));
        slot
    }

    /// The slot that the launch fills with the address of `.global` variable `index`.
    pub fn global(&mut self, index: u32) -> Slot {
        if let Some((_, slot)) = self.globals.iter().find(|(i, _)| *i == index) {
            return *slot;
        }
        let slot = self.fresh(File::Wide);
        self.globals.push((index, slot));
        slot
    }

    /// The predicate that holds the condition code.
    pub fn carry(&mut self) -> Slot {
        if let Some(slot) = self.carry {
            return slot;
        }
        let slot = self.fresh(File::Pred);
        self.carry = Some(slot);
        slot
    }

    /// The slot of a constant with these bits.
    pub fn constant(&mut self, bits: u64, ty: Scalar) -> Slot {
        let file = file(ty);
        let (k32, k64) = (&mut self.k32, &mut self.k64);
        *self.constants.entry((file, bits)).or_insert_with(|| {
            let index = if file == File::Wide {
                k64.push(V64([bits; LANES]));
                k64.len() - 1
            } else {
                k32.push(V32([bits as u32; LANES]));
                k32.len() - 1
            };
            Slot(index as u16 | Slot::FLAG)
        })
    }

    /// Hands everything to the program, or says what there is too much of.
    pub fn finish(self, program: &mut Program) -> Result<(), String> {
        let most = self.counts.iter().copied().chain([self.k32.len(), self.k64.len()]).max().unwrap_or(0);
        if most >= Slot::MAX {
            return Err(format!("the kernel uses {most} registers or constants; allowed: {}", Slot::MAX - 1));
        }
        [program.count32, program.count64, program.count_pred] = self.counts;
        program.k32 = self.k32;
        program.k64 = self.k64;
        program.registers = self.registers;
        program.specials = self.specials;
        program.globals = self.globals;
        Ok(())
    }
}

/// The bits of a constant operand of type `ty`; it was checked to be one.
pub(super) fn constant_bits(value: Immediate, ty: Scalar) -> u64 {
    let width = if ty.bytes() == 8 { u64::MAX } else { (1u64 << ty.bits()) - 1 };
    match value {
        Immediate::Int(v) => v as u64 & width,
        Immediate::F32(bits) if ty == Scalar::F64 => f64::from(f32::from_bits(bits)).to_bits(),
        Immediate::F32(bits) => u64::from(bits),
        Immediate::F64(bits) if ty.kind() == Kind::Float && ty.bytes() == 4 => {
            u64::from((f64::from_bits(bits) as f32).to_bits())
        }
        Immediate::F64(bits) => bits & width,
    }
}
