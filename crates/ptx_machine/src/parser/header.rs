//! Module scope: `.version`, `.target`, `.address_size`, then variables, functions and debug directives.

use super::target::refuse_target;
use super::variable::{MAX_VARIABLES, max_bytes};
use super::{Global, Parsed, Parser};
use crate::ast::{Ast, Callee, Target, Variable};
use crate::lexer::Token;
use crate::types::Space;

/// Newest PTX ISA version that is read. A later one may have changed the meaning of a form.
const NEWEST: (u32, u32) = (9, 9);

/// Most entries of a module, and most functions.
const MAX_ENTRIES: usize = 4096;

const ITEMS: &str = ".visible, .extern, .weak, .entry, .func, .global, .const, .shared, .file, .pragma";

impl<'s> Parser<'s> {
    pub(super) fn module(mut self) -> Parsed<Ast<'s>> {
        self.begin_statement();
        if !self.eat_dot("version")? {
            return self.unexpected(".version, the first directive of a PTX text");
        }
        let version = self.version()?;
        self.begin_statement();
        if !self.eat_dot("target")? {
            return self.unexpected(".target");
        }
        let target = self.target()?;
        if let Some(message) = refuse_target(&target, version) {
            return Err(self.error(message));
        }
        self.begin_statement();
        if self.eat_dot("address_size")? && self.integer("address size", 0, u64::MAX)? != 64 {
            return Err(self.error("this .address_size is not supported; allowed: 64"));
        }
        let mut ast = Ast { version, target, variables: Vec::new(), functions: Vec::new(), callees: Vec::new() };
        while self.token != Token::End {
            self.begin_statement();
            self.item(&mut ast)?;
        }
        Ok(ast)
    }

    fn version(&mut self) -> Parsed<(u32, u32)> {
        let Token::Number(text) = self.token else { return self.unexpected("a version such as 8.5") };
        let parsed = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let version = parsed.filter(|v| ((1, 0)..=NEWEST).contains(v));
        self.advance()?;
        version.ok_or_else(|| {
            self.error(format!("PTX version {text} is not supported; allowed: 1.0 to {}.{}", NEWEST.0, NEWEST.1))
        })
    }

    fn target(&mut self) -> Parsed<Target> {
        let name = self.name("a target such as sm_90")?;
        let digits = name.strip_prefix("sm_").unwrap_or("");
        let (digits, suffix) = match digits.strip_suffix(['a', 'f']) {
            Some(rest) => (rest, digits.chars().last()),
            None => (digits, None),
        };
        let Some(sm) = digits.parse::<u32>().ok().filter(|sm| (10..=999).contains(sm)) else {
            return Err(self.error(format!("target {name} is not supported; allowed: sm_NN, with a or f behind it")));
        };
        while self.eat(',')? {
            let option = self.name("debug or texmode_independent")?;
            if !matches!(option, "debug" | "texmode_independent" | "texmode_unified") {
                return Err(self.error(format!("target option {option} is not supported; allowed: debug")));
            }
        }
        Ok(Target { name: name.to_owned(), sm, suffix })
    }

    fn item(&mut self, ast: &mut Ast<'s>) -> Parsed<()> {
        let mut external = false;
        loop {
            match self.token {
                Token::Dot("visible" | "weak") => {}
                Token::Dot("extern") => external = true,
                _ => break,
            }
            self.advance()?;
        }
        match self.token {
            Token::Dot("entry") if !external => {
                self.advance()?;
                self.entry(ast)
            }
            Token::Dot("func") => {
                self.advance()?;
                self.callee(ast)
            }
            Token::Dot("global" | "const" | "shared") => {
                let variables = self.variables(external)?;
                self.declare_module(ast, variables)
            }
            Token::Dot("file") => self.file_directive(),
            Token::Dot("section") => self.section(),
            Token::Dot("pragma") => self.skip_statement(),
            Token::Punct(';') => self.advance().map(|_| ()),
            _ => self.unexpected(ITEMS),
        }
    }

    /// `.file 1 "name" [, timestamp, size]`, which no semicolon ends.
    pub(super) fn file_directive(&mut self) -> Parsed<()> {
        self.advance()?;
        self.integer("file number", 0, u64::from(u32::MAX))?;
        let Token::Text(_) = self.token else { return self.unexpected("a file name in quotes") };
        self.advance()?;
        while self.eat(',')? {
            self.integer("file attribute", 0, u64::MAX)?;
        }
        Ok(())
    }

    /// `.section .debug_x { … }`: debug data, which has no bearing on execution.
    fn section(&mut self) -> Parsed<()> {
        self.advance()?;
        while !self.at('{') {
            match self.token {
                Token::Dot(_) | Token::Word(_) => self.advance()?,
                _ => return self.unexpected("a section name and {"),
            };
        }
        while !self.eat('}')? {
            if self.token == Token::End {
                return self.unexpected("} at the end of the section");
            }
            self.advance()?;
        }
        Ok(())
    }

    fn declare_module(&mut self, ast: &mut Ast<'s>, variables: Vec<(&'s str, Variable)>) -> Parsed<()> {
        for (name, variable) in variables {
            if ast.variables.len() == MAX_VARIABLES {
                return Err(self.error(format!("more than {MAX_VARIABLES} variables")));
            }
            if self.globals.insert(name, Global::Variable(ast.variables.len() as u32)).is_some() {
                return Err(self.error(format!("{name} is declared twice")));
            }
            let (space, most) = (variable.space, max_bytes(variable.space));
            ast.variables.push(variable);
            let total: u64 = ast.variables.iter().filter(|v| v.space == space).map(|v| v.bytes).sum();
            // Shared variables count in the kernels that use them.
            if space != Space::Shared && total > most {
                let what = space.word();
                return Err(
                    self.error(format!("{total} bytes of {what} variables are too many; allowed: {most} bytes"))
                );
            }
        }
        Ok(())
    }

    fn entry(&mut self, ast: &mut Ast<'s>) -> Parsed<()> {
        if ast.functions.len() == MAX_ENTRIES {
            return Err(self.error(format!("more than {MAX_ENTRIES} entries")));
        }
        let (name, function) = self.kernel()?;
        if self.globals.insert(name, Global::Entry).is_some() {
            return Err(self.error(format!("{name} is declared twice")));
        }
        ast.functions.push(function);
        Ok(())
    }

    /// `.func`, declared or defined; what is declared may be defined later.
    fn callee(&mut self, ast: &mut Ast<'s>) -> Parsed<()> {
        let (name, mut function, mut scopes) = self.signature()?;
        let counts = (function.params.len() - function.inputs, function.inputs);
        let index = match self.globals.get(name) {
            None if ast.callees.len() == MAX_ENTRIES => {
                return Err(self.error(format!("more than {MAX_ENTRIES} functions")));
            }
            None => {
                ast.callees.push(Callee { name, counts, body: None });
                ast.callees.len() - 1
            }
            Some(Global::Callee(index)) if ast.callees[*index as usize].counts == counts => *index as usize,
            Some(Global::Callee(_)) => {
                return Err(self.error(format!("{name} was declared with other parameters or results")));
            }
            Some(_) => return Err(self.error(format!("{name} is declared twice"))),
        };
        self.globals.insert(name, Global::Callee(index as u32));
        if self.eat(';')? {
            return Ok(());
        }
        if ast.callees[index].body.is_some() {
            return Err(self.error(format!("{name} is defined twice")));
        }
        self.body(&mut function, &mut scopes)?;
        ast.callees[index].body = Some(function);
        Ok(())
    }
}
