//! `.entry name(params) .maxntid … { … }` and `.func (results) name (params) { … }`.

use super::scope::{Name, Scopes};
use super::{Parsed, Parser};
use crate::ast::{Function, Param, Symbol};
use crate::lexer::Token;
use crate::types::Scalar;

/// Most bytes of parameters that a kernel may have (PTX 8.1, `sm_70`).
pub(crate) const MAX_PARAM_BYTES: u32 = 32_764;

/// A function with a name and nothing else.
fn empty(name: &str, line: u32, is_entry: bool) -> Function<'_> {
    Function {
        name: name.to_owned(),
        line,
        params: Vec::new(),
        inputs: 0,
        is_entry,
        max_threads: None,
        required_threads: None,
        registers: Vec::new(),
        variables: Vec::new(),
        instructions: Vec::new(),
        labels: Vec::new(),
        targets: Vec::new(),
    }
}

impl<'s> Parser<'s> {
    /// `name(params) limits { … }`, behind `.entry`.
    pub(super) fn kernel(&mut self) -> Parsed<(&'s str, Function<'s>)> {
        let line = self.line;
        let name = self.name("the kernel's name")?;
        let mut function = empty(name, line, true);
        let mut scopes = Scopes::default();
        scopes.enter();
        if self.eat('(')? {
            self.params(&mut function.params, &mut scopes)?;
        }
        function.inputs = function.params.len();
        self.limits(&mut function)?;
        if self.at(';') {
            return Err(self.error(format!("{name} has no body; allowed: kernels that are defined here")));
        }
        self.body(&mut function, &mut scopes)?;
        Ok((name, function))
    }

    /// `(results) name (params)`, behind `.func`: the function without its body, and the names that the body sees.
    pub(super) fn signature(&mut self) -> Parsed<(&'s str, Function<'s>, Scopes<'s>)> {
        let line = self.line;
        let mut scopes = Scopes::default();
        scopes.enter();
        let mut results = Vec::new();
        let mut unseen = Scopes::default();
        if self.eat('(')? {
            self.params(&mut results, &mut unseen)?;
        }
        let name = self.name("the function's name")?;
        let mut function = empty(name, line, false);
        if self.eat('(')? {
            self.params(&mut function.params, &mut scopes)?;
        }
        function.inputs = function.params.len();
        for param in results {
            let name = param.name;
            self.add_param(name, param, &mut function.params, &mut scopes)?;
        }
        self.limits(&mut function)?;
        Ok((name, function, scopes))
    }

    /// Parameters up to the `)`, their names declared.
    fn params(&mut self, params: &mut Vec<Param<'s>>, scopes: &mut Scopes<'s>) -> Parsed<()> {
        let mut bytes = 0u32;
        while !self.eat(')')? {
            self.begin_statement();
            let (name, param) = self.param()?;
            bytes = bytes.next_multiple_of(param.align).saturating_add(param.ty.bytes() * param.count.unwrap_or(1));
            if bytes > MAX_PARAM_BYTES {
                return Err(self.error(format!("more than {MAX_PARAM_BYTES} bytes of parameters")));
            }
            self.add_param(name, param, params, scopes)?;
            if !self.at(')') {
                self.expect(',')?;
            }
        }
        Ok(())
    }

    fn add_param(
        &mut self,
        name: &'s str,
        param: Param<'s>,
        params: &mut Vec<Param<'s>>,
        scopes: &mut Scopes<'s>,
    ) -> Parsed<()> {
        // A declaration may leave names out.
        if name != "_" {
            if scopes.is_taken(name) {
                return Err(self.error(format!("parameter {name} is declared twice")));
            }
            scopes.declare(name, Name::Symbol(Symbol::Param(params.len() as u32)));
        }
        params.push(param);
        Ok(())
    }

    fn param(&mut self) -> Parsed<(&'s str, Param<'s>)> {
        if self.token == Token::Dot("reg") {
            return Err(self.error("a .reg parameter is not supported; allowed: .param"));
        }
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
        Ok((name, Param { name, ty, count, align: align.unwrap_or(ty.bytes()).max(ty.bytes()) }))
    }

    /// `.maxntid 256, 1, 1 .reqntid … .minnctapersm 1 .maxnreg 64`.
    fn limits(&mut self, function: &mut Function<'s>) -> Parsed<()> {
        while let Token::Dot(word) = self.token {
            self.begin_statement();
            self.advance()?;
            match word {
                "maxntid" => function.max_threads = Some(self.shape()?.iter().product()),
                "reqntid" => function.required_threads = Some(self.shape()?),
                "minnctapersm" | "maxnctapersm" | "maxnreg" => {
                    let _ = self.integer(word, 1, 1 << 16)?;
                }
                "pragma" => self.skip_statement()?,
                "noreturn" if !function.is_entry => {}
                "abi_preserve" | "abi_preserve_control" if !function.is_entry => {
                    let _ = self.integer(word, 0, 1 << 16)?;
                }
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
