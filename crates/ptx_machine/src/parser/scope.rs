//! Names of a function body, by nested scope.

use std::collections::HashMap;

use crate::ast::{Function, Register, RegisterId, Symbol};
use crate::types::Scalar;

/// Deepest nesting of `{ … }` in a body.
pub(super) const MAX_DEPTH: usize = 64;
/// Most registers that `%r<N>` may declare.
pub(super) const MAX_RANGE: u64 = 1 << 20;

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Register(RegisterId),
    Symbol(Symbol),
    /// Index into [`Function::targets`].
    Targets(u32),
}

#[derive(Debug, Default)]
struct Scope<'s> {
    names: HashMap<&'s str, Name>,
    /// Prefix of `%r<100>` to count and type; its registers come into being when they are used.
    ranges: HashMap<&'s str, (u64, Scalar)>,
    labels: HashMap<&'s str, u32>,
    /// Branches to labels not seen yet: label index, name, line.
    wanted: Vec<(u32, &'s str, u32)>,
}

/// The open scopes, innermost last.
#[derive(Debug, Default)]
pub(super) struct Scopes<'s> {
    open: Vec<Scope<'s>>,
}

/// A label that nothing defines.
pub(super) struct Unresolved<'s> {
    pub name: &'s str,
    pub line: u32,
}

impl<'s> Scopes<'s> {
    pub fn enter(&mut self) {
        self.open.push(Scope::default());
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    fn top(&mut self) -> &mut Scope<'s> {
        if self.open.is_empty() {
            self.enter();
        }
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    /// Closes the innermost scope; its open branches go to the scope around it.
    pub fn leave(&mut self, labels: &mut [u32]) -> Result<(), Unresolved<'s>> {
        let Some(scope) = self.open.pop() else { return Ok(()) };
        for (index, name, line) in scope.wanted {
            if let Some(&at) = scope.labels.get(name) {
                labels[index as usize] = at;
            } else if let Some(outer) = self.open.last_mut() {
                outer.wanted.push((index, name, line));
            } else {
                return Err(Unresolved { name, line });
            }
        }
        Ok(())
    }

    /// Whether the innermost scope has the name already.
    pub fn is_taken(&mut self, name: &str) -> bool {
        self.top().names.contains_key(name)
    }

    pub fn declare(&mut self, name: &'s str, meaning: Name) {
        self.top().names.insert(name, meaning);
    }

    pub fn declare_range(&mut self, prefix: &'s str, count: u64, ty: Scalar) {
        self.top().ranges.insert(prefix, (count, ty));
    }

    /// Places a label; false where the scope has it already.
    pub fn place_label(&mut self, name: &'s str, at: u32) -> bool {
        self.top().labels.insert(name, at).is_none()
    }

    pub fn want_label(&mut self, index: u32, name: &'s str, line: u32) {
        self.top().wanted.push((index, name, line));
    }

    /// What the name stands for in the innermost scope that has it.
    pub fn resolve(&mut self, name: &'s str, function: &mut Function<'s>) -> Option<Name> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[prefix.len()..];
        let canonical = digits == "0" || !digits.starts_with('0');
        let number = digits.parse::<u64>().ok().filter(|_| canonical);
        for scope in self.open.iter_mut().rev() {
            if let Some(&found) = scope.names.get(name) {
                return Some(found);
            }
            let range = scope.ranges.get(prefix).zip(number);
            let Some((&(count, ty), number)) = range else { continue };
            if number < count {
                let id = function.registers.len() as RegisterId;
                function.registers.push(Register { name, ty });
                scope.names.insert(name, Name::Register(id));
                return Some(Name::Register(id));
            }
        }
        None
    }
}
