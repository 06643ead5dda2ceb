//! The functions that a kernel reaches through calls.

use std::collections::HashMap;

use super::Context;
use crate::ast::{Function, Instruction, Operand};
use crate::error::{PtxError, excerpt};

/// Deepest nesting of calls.
const MAX_DEPTH: usize = 64;

/// A kernel and every function that it reaches.
#[derive(Debug)]
pub(crate) struct Bodies<'a, 's> {
    /// The kernel first.
    pub all: Vec<&'a Function<'s>>,
    /// Place in `all` of a function, by its index among the module's.
    places: HashMap<u32, usize>,
}

/// The function that an instruction calls, if it is a call.
pub(super) fn called(instruction: &Instruction<'_>) -> Option<u32> {
    instruction.operands.iter().find_map(|operand| match operand {
        Operand::Function(callee) => Some(*callee),
        _ => None,
    })
}

impl<'a, 's> Bodies<'a, 's> {
    /// Finds them all; refuses a call without a body to go to, and one that leads back to its own function.
    pub fn new(context: &Context<'a, 's>, kernel: &'a Function<'s>) -> Result<Self, PtxError> {
        let mut bodies = Self { all: vec![kernel], places: HashMap::new() };
        bodies.visit(context, kernel, &mut Vec::new())?;
        Ok(bodies)
    }

    /// A function without what it calls.
    pub fn alone(function: &'a Function<'s>) -> Self {
        Self { all: vec![function], places: HashMap::new() }
    }

    /// Place in `all` of the callee.
    pub fn place(&self, callee: u32) -> usize {
        self.places[&callee]
    }

    fn visit(
        &mut self,
        context: &Context<'a, 's>,
        function: &'a Function<'s>,
        path: &mut Vec<u32>,
    ) -> Result<(), PtxError> {
        for instruction in &function.instructions {
            let Some(callee) = called(instruction) else { continue };
            let refuse = |message: String| PtxError {
                file: context.file.to_owned(),
                line: instruction.line,
                text: excerpt(instruction.text),
                message,
                nearest: None,
            };
            let name = context.ast.callees[callee as usize].name;
            if path.contains(&callee) {
                return Err(refuse(format!("the call of {name} is recursive; allowed: calls that end by themselves")));
            }
            if self.places.contains_key(&callee) {
                continue;
            }
            let Some(body) = &context.ast.callees[callee as usize].body else {
                let message = format!("{name} has no body in this module; allowed: calls of functions with one");
                return Err(refuse(message));
            };
            if path.len() == MAX_DEPTH {
                return Err(refuse(format!("calls are nested too deeply; allowed: {MAX_DEPTH} levels")));
            }
            self.places.insert(callee, self.all.len());
            self.all.push(body);
            path.push(callee);
            self.visit(context, body, path)?;
            path.pop();
        }
        Ok(())
    }
}
