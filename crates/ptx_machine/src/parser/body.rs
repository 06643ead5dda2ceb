//! The statements of a function body.

use super::scope::{MAX_DEPTH, MAX_RANGE, Name, Scopes};
use super::variable::MAX_VARIABLES;
use super::{Parsed, Parser};
use crate::ast::{Function, Instruction, Operand, Register, RegisterId, Special, Symbol};
use crate::error::excerpt;
use crate::lexer::Token;
use crate::types::{Scalar, Space};

/// Most labels of a `.branchtargets`.
const MAX_TARGETS: usize = 1 << 16;

/// A function being read, with the names it can see.
pub(super) struct Body<'a, 's> {
    pub function: &'a mut Function<'s>,
    pub scopes: &'a mut Scopes<'s>,
}

impl<'s> Parser<'s> {
    pub(super) fn body(&mut self, function: &mut Function<'s>, scopes: &mut Scopes<'s>) -> Parsed<()> {
        self.expect('{')?;
        let outer = scopes.depth();
        scopes.enter();
        let mut body = Body { function, scopes };
        while body.scopes.depth() > outer {
            self.begin_statement();
            self.statement(&mut body)?;
        }
        self.close_scope(&mut body)
    }

    fn statement(&mut self, body: &mut Body<'_, 's>) -> Parsed<()> {
        match self.token {
            Token::Punct('{') => {
                if body.scopes.depth() > MAX_DEPTH {
                    return Err(self.error(format!("blocks are nested too deeply; allowed: {MAX_DEPTH} levels")));
                }
                body.scopes.enter();
                self.advance().map(|_| ())
            }
            Token::Punct('}') => {
                self.advance()?;
                self.close_scope(body)
            }
            Token::Punct(';') => self.advance().map(|_| ()),
            Token::Dot(word) => self.directive(word, body),
            Token::Punct('@') | Token::Word(_) => self.labelled(body),
            _ => self.unexpected("an instruction, a label, a directive or }"),
        }
    }

    fn close_scope(&mut self, body: &mut Body<'_, 's>) -> Parsed<()> {
        body.scopes.leave(&mut body.function.labels).map_err(|missing| {
            let message = format!("label {} is not defined in this function", missing.name);
            let mut error = self.error(message);
            error.line = missing.line;
            error.text = excerpt(missing.name);
            error
        })
    }

    fn directive(&mut self, word: &'s str, body: &mut Body<'_, 's>) -> Parsed<()> {
        match word {
            "reg" => self.registers(body),
            "shared" | "local" | "param" => self.local_variables(body, false),
            "extern" => {
                self.advance()?;
                self.local_variables(body, true)
            }
            "loc" => self.loc(),
            "pragma" => self.skip_statement(),
            "file" => self.file_directive(),
            _ => self.unexpected(".reg, .shared, .local, .param, .loc, .pragma"),
        }
    }

    /// `.loc 1 20 3 [, function_name label, inlined_at 1 2 3]`, which no semicolon ends.
    fn loc(&mut self) -> Parsed<()> {
        self.advance()?;
        for _ in 0..3 {
            self.integer("source position", 0, u64::from(u32::MAX))?;
        }
        while self.eat(',')? {
            match self.name("function_name or inlined_at")? {
                "function_name" => {
                    self.name("a label")?;
                    if self.eat('+')? {
                        self.integer("offset", 0, u64::MAX)?;
                    }
                }
                "inlined_at" => {
                    for _ in 0..3 {
                        self.integer("source position", 0, u64::from(u32::MAX))?;
                    }
                }
                other => return Err(self.error(format!("{other} is not expected in .loc"))),
            }
        }
        Ok(())
    }

    /// `.reg .b32 %r<100>, %x;`.
    fn registers(&mut self, body: &mut Body<'_, 's>) -> Parsed<()> {
        self.advance()?;
        let Token::Dot(word) = self.token else { return self.unexpected("a register type such as .b32") };
        let Some(ty) = Scalar::from_word(word).filter(|t| t.bytes() != 1) else {
            let words: Vec<_> = Scalar::ALL.iter().filter(|t| t.bytes() != 1).map(|t| t.word()).collect();
            return Err(self.error(format!(".{word} is no register type; allowed: {}", words.join(", "))));
        };
        self.advance()?;
        loop {
            let name = self.name("a register name")?;
            if self.eat('<')? {
                let count = self.integer("number of registers", 1, MAX_RANGE)?;
                self.expect('>')?;
                body.scopes.declare_range(name, count, ty);
            } else {
                if body.scopes.is_taken(name) {
                    return Err(self.error(format!("{name} is declared twice")));
                }
                if let Some(hidden) = Special::hidden_by(name) {
                    return Err(self.error(format!("{name} hides the special register {hidden}")));
                }
                body.scopes.declare(name, Name::Register(body.function.registers.len() as RegisterId));
                body.function.registers.push(Register { name, ty });
            }
            if !self.eat(',')? {
                return self.expect(';');
            }
        }
    }

    fn local_variables(&mut self, body: &mut Body<'_, 's>, external: bool) -> Parsed<()> {
        for (name, variable) in self.variables(external)? {
            if !matches!(variable.space, Space::Shared | Space::Local | Space::Param) {
                return Err(self.error("only .shared, .local and .param variables may be declared in a function"));
            }
            if body.scopes.is_taken(name) {
                return Err(self.error(format!("{name} is declared twice")));
            }
            if body.function.variables.len() == MAX_VARIABLES {
                return Err(self.error(format!("more than {MAX_VARIABLES} variables")));
            }
            body.scopes.declare(name, Name::Symbol(Symbol::Local(body.function.variables.len() as u32)));
            body.function.variables.push(variable);
        }
        Ok(())
    }

    fn labelled(&mut self, body: &mut Body<'_, 's>) -> Parsed<()> {
        let guard = self.guard(body)?;
        let Token::Word(word) = self.token else { return self.unexpected("an instruction") };
        self.advance()?;
        if guard.is_none() && self.at(':') {
            self.advance()?;
            let at = body.function.instructions.len() as u32;
            if let Token::Dot("branchtargets" | "callprototype" | "calltargets") = self.token {
                return self.jump_table(word, body);
            }
            if word.contains(['.', ':']) {
                return Err(self.error(format!("{word} is no label; allowed: letters, digits, _ and $")));
            }
            if !body.scopes.place_label(word, at) {
                return Err(self.error(format!("label {word} is defined twice in this block")));
            }
            return Ok(());
        }
        let (line, start) = self.statement;
        let operands = self.operands(body, word)?;
        let text = &self.source[start..self.start];
        self.expect(';')?;
        body.function.instructions.push(Instruction { guard, mnemonic: word, operands, line, text: text.trim_end() });
        Ok(())
    }

    /// `name: .branchtargets L1, L2;`: what an indexed branch chooses from.
    fn jump_table(&mut self, name: &'s str, body: &mut Body<'_, 's>) -> Parsed<()> {
        if !self.eat_dot("branchtargets")? {
            return Err(self.error("indirect calls are not supported; allowed: calls of a function by its name"));
        }
        let mut labels = Vec::new();
        loop {
            let Operand::Label(label) = self.label(body)? else { return self.unexpected("a label") };
            labels.push(label);
            if labels.len() > MAX_TARGETS {
                return Err(self.error(format!("more than {MAX_TARGETS} targets of a branch")));
            }
            if !self.eat(',')? {
                break;
            }
        }
        if body.scopes.is_taken(name) {
            return Err(self.error(format!("{name} is declared twice")));
        }
        body.scopes.declare(name, Name::Targets(body.function.targets.len() as u32));
        body.function.targets.push(labels);
        self.expect(';')
    }

    /// `@%p1` or `@!%p1`.
    fn guard(&mut self, body: &mut Body<'_, 's>) -> Parsed<Option<(RegisterId, bool)>> {
        if !self.eat('@')? {
            return Ok(None);
        }
        let negated = self.eat('!')?;
        let name = self.name("a predicate register")?;
        match body.scopes.resolve(name, body.function) {
            Some(Name::Register(id)) if body.function.registers[id as usize].ty == Scalar::Pred => {
                Ok(Some((id, negated)))
            }
            _ => Err(self.error(format!("{name} is no predicate register"))),
        }
    }
}
