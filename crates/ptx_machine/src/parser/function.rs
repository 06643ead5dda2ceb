//! `.entry name(params) .maxntid … { … }`.

use super::scope::{Name, Scopes};
use super::{Parsed, Parser};
use crate::ast::{Function, Param, Symbol};
use crate::lexer::Token;
use crate::types::Scalar;

/// Most bytes of parameters that a kernel may have (PTX 8.1, `sm_70`).
pub(crate) const MAX_PARAM_BYTES: u32 = 32_764;

impl<'s> Parser<'s> {
    pub(super) fn function(&mut self) -> Parsed<(&'s str, Function<'s>)> {
        let line = self.line;
        let name = self.name("the kernel's name")?;
        let mut function = Function {
            name: name.to_owned(),
            line,
            params: Vec::new(),
            max_threads: None,
            required_threads: None,
            registers: Vec::new(),
            variables: Vec::new(),
            instructions: Vec::new(),
            labels: Vec::new(),
        };
        let mut scopes = Scopes::default();
        scopes.enter();
        if self.eat('(')? {
            self.params(&mut function, &mut scopes)?;
        }
        self.limits(&mut function)?;
        if self.at(';') {
            return Err(self.error(format!("{name} has no body; allowed: kernels that are defined here")));
        }
        self.body(&mut function, &mut scopes)?;
        Ok((name, function))
    }

    fn params(&mut self, function: &mut Function<'s>, scopes: &mut Scopes<'s>) -> Parsed<()> {
        let mut bytes = 0u32;
        while !self.eat(')')? {
            self.begin_statement();
            let (name, param) = self.param()?;
            if scopes.is_taken(name) {
                return Err(self.error(format!("parameter {name} is declared twice")));
            }
            bytes = bytes.next_multiple_of(param.align).saturating_add(param.ty.bytes() * param.count.unwrap_or(1));
            if bytes > MAX_PARAM_BYTES {
                return Err(self.error(format!("more than {MAX_PARAM_BYTES} bytes of parameters")));
            }
            scopes.declare(name, Name::Symbol(Symbol::Param(function.params.len() as u32)));
            function.params.push(param);
            if !self.at(')') {
                self.expect(',')?;
            }
        }
        Ok(())
    }

    fn param(&mut self) -> Parsed<(&'s str, Param)> {
        if !self.eat_dot("param")? {
            return self.unexpected(".param");
        }
        let mut align = None;
        let mut ty = None;
        while let Token::Dot(word) = self.token {
            self.advance()?;
            match word {
                "align" if ty.is_none() => align = Some(self.alignment()?),
                // `.ptr.space.align N` tells what the pointer points to.
                "ptr" | "global" | "const" | "shared" | "local" if ty.is_some() => {}
                "align" => drop(self.alignment()?),
                _ => match Scalar::from_word(word).filter(|t| t.bytes() > 0 && ty.is_none()) {
                    Some(found) => ty = Some(found),
                    None => {
                        return Err(
                            self.error(format!(".{word} is no type of a parameter; allowed: .u64, .f32, .b8 …"))
                        );
                    }
                },
            }
        }
        let Some(ty) = ty else { return self.unexpected("a type such as .u64") };
        let name = self.name("the parameter's name")?;
        let mut count = None;
        if self.eat('[')? {
            count = Some(self.integer("array size", 1, u64::from(MAX_PARAM_BYTES))? as u32);
            self.expect(']')?;
        }
        Ok((name, Param { name: name.to_owned(), ty, count, align: align.unwrap_or(ty.bytes()).max(ty.bytes()) }))
    }

    /// `.maxntid 256, 1, 1 .reqntid … .minnctapersm 1 .maxnreg 64`.
    fn limits(&mut self, function: &mut Function<'s>) -> Parsed<()> {
        while let Token::Dot(word) = self.token {
            self.begin_statement();
            self.advance()?;
            match word {
                "maxntid" => function.max_threads = Some(self.shape()?.iter().product()),
                "reqntid" => function.required_threads = Some(self.shape()?),
                "minnctapersm" | "maxnctapersm" | "maxnreg" => drop(self.integer(word, 1, 1 << 16)?),
                "pragma" => self.skip_statement()?,
                _ => {
                    let allowed = ".maxntid, .reqntid, .minnctapersm, .maxnctapersm, .maxnreg, .pragma";
                    return Err(self.error(format!(".{word} is not supported; allowed: {allowed}")));
                }
            }
        }
        Ok(())
    }

    fn shape(&mut self) -> Parsed<[u32; 3]> {
        let mut shape = [1; 3];
        for (i, n) in shape.iter_mut().enumerate() {
            if i > 0 && !self.eat(',')? {
                break;
            }
            *n = self.integer("number of threads", 1, 1024)? as u32;
        }
        Ok(shape)
    }
}
