//! The operands of an instruction.

use super::body::Body;
use super::scope::Name;
use super::{Global, Parsed, Parser};
use crate::ast::{Base, Operand, Special, Symbol};
use crate::lexer::Token;
use crate::literal::Immediate;

/// Most operands of an instruction, and most parts of a vector.
const MAX_OPERANDS: usize = 16;
/// Most arguments of a call.
const MAX_ARGUMENTS: usize = 256;

impl<'s> Parser<'s> {
    pub(super) fn operands(&mut self, body: &mut Body<'_, 's>, mnemonic: &str) -> Parsed<Vec<Operand>> {
        let mut found = Vec::new();
        if self.at(';') {
            return Ok(found);
        }
        if mnemonic == "call" || mnemonic.starts_with("call.") {
            return self.call(body);
        }
        let is_branch = mnemonic == "bra" || mnemonic.starts_with("bra.");
        loop {
            found.push(if is_branch { self.label(body)? } else { self.operand(body)? });
            if self.eat('|')? {
                let second = self.operand(body)?;
                found.push(Operand::Joined(Box::new(second)));
            }
            if found.len() > MAX_OPERANDS {
                return Err(self.error(format!("more than {MAX_OPERANDS} operands")));
            }
            if !self.eat(',')? {
                break;
            }
        }
        if self.at(';') { Ok(found) } else { self.unexpected("; or , and an operand") }
    }

    /// `(results), name, (arguments)`, of which only the name must be there: always three operands.
    fn call(&mut self, body: &mut Body<'_, 's>) -> Parsed<Vec<Operand>> {
        let results = self.list(body)?;
        if results.is_some() {
            self.expect(',')?;
        }
        let Token::Word(name) = self.token else { return self.unexpected("the name of a function") };
        let Some(&Global::Callee(callee)) = self.globals.get(name) else {
            let message = format!("{name} is no function that is declared before; allowed: the name of a .func");
            return Err(self.error(message));
        };
        self.advance()?;
        let arguments = if self.eat(',')? { self.list(body)? } else { None };
        if !self.at(';') {
            return self.unexpected("; or ( and arguments");
        }
        let list = |parts: Option<Vec<Operand>>| Operand::List(parts.unwrap_or_default());
        Ok(vec![list(results), Operand::Function(callee), list(arguments)])
    }

    /// Operands in ( ), where there is a `(`.
    fn list(&mut self, body: &mut Body<'_, 's>) -> Parsed<Option<Vec<Operand>>> {
        if !self.eat('(')? {
            return Ok(None);
        }
        let mut parts = Vec::new();
        while !self.eat(')')? {
            parts.push(self.operand(body)?);
            if parts.len() > MAX_ARGUMENTS {
                return Err(self.error(format!("more than {MAX_ARGUMENTS} arguments")));
            }
            if !self.at(')') {
                self.expect(',')?;
            }
        }
        Ok(Some(parts))
    }

    pub(super) fn label(&mut self, body: &mut Body<'_, 's>) -> Parsed<Operand> {
        let line = self.line;
        let name = self.name("a label")?;
        let index = body.function.labels.len() as u32;
        body.function.labels.push(u32::MAX);
        body.scopes.want_label(index, name, line);
        Ok(Operand::Label(index))
    }

    fn operand(&mut self, body: &mut Body<'_, 's>) -> Parsed<Operand> {
        match self.token {
            Token::Punct('[') => self.address(body),
            Token::Punct('{') => self.vector(body),
            Token::Punct('!') => {
                self.advance()?;
                match self.named(body)? {
                    Operand::Register(id) => Ok(Operand::Not(id)),
                    _ => Err(self.error("! is for predicate registers")),
                }
            }
            Token::Word("WARP_SZ") | Token::Number(_) | Token::Punct('-' | '~') => {
                self.immediate().map(Operand::Immediate)
            }
            Token::Word(_) => match self.named(body)? {
                Operand::Symbol(symbol, _) if self.eat('+')? => Ok(Operand::Symbol(symbol, self.offset()?)),
                other => Ok(other),
            },
            _ => self.unexpected("a register, a number, an address in [ ], or a vector in { }"),
        }
    }

    fn vector(&mut self, body: &mut Body<'_, 's>) -> Parsed<Operand> {
        self.advance()?;
        let mut parts = Vec::new();
        loop {
            parts.push(match self.token {
                Token::Word("WARP_SZ") | Token::Number(_) | Token::Punct('-' | '~') => {
                    self.immediate().map(Operand::Immediate)?
                }
                _ => self.named(body)?,
            });
            if parts.len() > MAX_OPERANDS {
                return Err(self.error(format!("a vector of more than {MAX_OPERANDS} parts")));
            }
            if !self.eat(',')? {
                self.expect('}')?;
                return Ok(Operand::Vector(parts));
            }
        }
    }

    /// `[%rd1+16]`, `[smem]`, `[%rd1+-8]`, `[64]`.
    fn address(&mut self, body: &mut Body<'_, 's>) -> Parsed<Operand> {
        self.advance()?;
        let base = match self.token {
            Token::Number(_) | Token::Punct('-') => Base::Zero,
            _ => match self.named(body)? {
                Operand::Register(id) => Base::Register(id),
                Operand::Symbol(symbol, _) => Base::Symbol(symbol),
                _ => return Err(self.error("an address starts with a register, a variable or a number")),
            },
        };
        let mut offset = 0;
        if base == Base::Zero || self.at('+') || self.at('-') {
            self.eat('+')?;
            offset = self.offset()?;
        }
        if !self.eat(']')? {
            return self.unexpected("] or + and a whole number");
        }
        Ok(Operand::Address { base, offset })
    }

    fn offset(&mut self) -> Parsed<i64> {
        match self.immediate()? {
            Immediate::Int(v) if i64::try_from(v).is_ok() => Ok(v as i64),
            _ => Err(self.error("an address offset is no whole number of up to 63 bits")),
        }
    }

    fn named(&mut self, body: &mut Body<'_, 's>) -> Parsed<Operand> {
        let Token::Word(name) = self.token else { return self.unexpected("a register") };
        self.advance()?;
        if name == "_" {
            return Ok(Operand::Sink);
        }
        match body.scopes.resolve(name, body.function) {
            Some(Name::Register(id)) => return Ok(Operand::Register(id)),
            Some(Name::Symbol(symbol)) => return Ok(Operand::Symbol(symbol, 0)),
            Some(Name::Targets(index)) => return Ok(Operand::Targets(index)),
            None => {}
        }
        if let Some(&Global::Variable(index)) = self.globals.get(name) {
            return Ok(Operand::Symbol(Symbol::Module(index), 0));
        }
        if let Some(special) = Special::from_word(name) {
            return Ok(Operand::Special(special));
        }
        let specials = || Special::ALL.iter().map(|(_, word)| *word);
        let mut error = self.error(format!("{name} is not declared, and no special register"));
        error.nearest = crate::suggest::closest(name, specials()).map(str::to_owned);
        Err(error)
    }
}
