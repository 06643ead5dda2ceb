//! The operands of instructions as a trace shows them: by name, and told apart by whether they are written.

use std::collections::HashMap;

use super::{Bodies, Checked, Context, Layout, Lower};
use crate::ast::{Base, Function, Instruction, Operand, RegisterId, Special};
use crate::error::PtxError;
use crate::program::{Program, Slot};
use crate::types::Scalar;

/// A register that an instruction reads or writes.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub name: String,
    /// Its declared type, which says in which file the slot is.
    pub ty: Scalar,
    pub slot: Slot,
    pub is_written: bool,
}

/// The registers of each instruction of a kernel, by the byte of the source at which it starts.
///
/// `program` is what the kernel was lowered to, from the same text.
pub(crate) fn shown_operands(
    context: &Context<'_, '_>,
    function: &Function<'_>,
    program: &Program,
) -> Result<HashMap<usize, Vec<Shown>>, PtxError> {
    let bodies = Bodies::new(context, function)?;
    let layout = Layout::new(context.ast, &bodies.all);
    let mut lower = Lower::new(context, &bodies, &layout);
    let mut all = HashMap::new();
    for (&function, slots) in bodies.all.iter().zip(&program.registers) {
        lower.function = function;
        for instruction in &function.instructions {
            let start = instruction.text.as_ptr() as usize - context.source.as_ptr() as usize;
            let mut collected = Collector { function, program, slots, shown: Vec::new() };
            collected.instruction(instruction, &lower.check(instruction)?);
            all.insert(start, collected.shown);
        }
    }
    Ok(all)
}

struct Collector<'a, 's> {
    function: &'a Function<'s>,
    program: &'a Program,
    slots: &'a [Option<Slot>],
    shown: Vec<Shown>,
}

impl Collector<'_, '_> {
    fn instruction(&mut self, instruction: &Instruction<'_>, checked: &Checked<'_>) {
        if let Some((id, _)) = instruction.guard {
            self.register(id, false);
        }
        for (word, operand) in checked.bound.form.operands.iter().zip(&checked.operands) {
            let kind = word.trim_start_matches('|').split(':').next().unwrap_or("");
            let is_written = matches!(kind.trim_end_matches('?'), "out" | "outvec" | "outpack" | "pout");
            if let Some(operand) = operand {
                self.operand(operand, is_written);
            }
        }
    }

    fn operand(&mut self, operand: &Operand, is_written: bool) {
        match operand {
            Operand::Register(id) | Operand::Not(id) => self.register(*id, is_written),
            Operand::Address { base: Base::Register(id), .. } => self.register(*id, false),
            Operand::Special(special) => self.special(*special),
            Operand::Vector(parts) => parts.iter().for_each(|part| self.operand(part, is_written)),
            Operand::Joined(second) => self.operand(second, is_written),
            Operand::List(parts) => parts.iter().for_each(|part| self.operand(part, is_written)),
            Operand::Address { .. }
            | Operand::Targets(_)
            | Operand::Function(_)
            | Operand::Immediate(_)
            | Operand::Symbol(..)
            | Operand::Label(_)
            | Operand::Sink => {}
        }
    }

    fn register(&mut self, id: RegisterId, is_written: bool) {
        let register = &self.function.registers[id as usize];
        if let Some(slot) = self.slots.get(id as usize).copied().flatten() {
            self.add(register.name, register.ty, slot, is_written);
        }
    }

    fn special(&mut self, special: Special) {
        let name = Special::ALL.iter().find(|(s, _)| *s == special).map_or("", |(_, name)| name);
        if let Some(&(_, slot)) = self.program.specials.iter().find(|(s, _)| *s == special) {
            self.add(name, Scalar::U32, slot, false);
        }
    }

    /// Once, however often the instruction names it.
    fn add(&mut self, name: &str, ty: Scalar, slot: Slot, is_written: bool) {
        if !self.shown.iter().any(|shown| shown.name == name && shown.is_written == is_written) {
            self.shown.push(Shown { name: name.to_owned(), ty, slot, is_written });
        }
    }
}
