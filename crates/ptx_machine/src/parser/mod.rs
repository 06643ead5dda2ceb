//! Text to [`Ast`]. One pass with one token of look-ahead; the first thing wrong ends it.

mod body;
mod function;
mod header;
mod operand;
mod scope;
mod target;
mod variable;

use std::collections::HashMap;

use crate::MAX_SOURCE_BYTES;
use crate::ast::Ast;
use crate::error::{PtxError, excerpt};
use crate::lexer::{Lexer, Token};
use crate::literal::Immediate;

pub(crate) use variable::max_bytes;

/// Parses `source`, calling it `file` in errors.
pub(crate) fn parse<'s>(source: &'s str, file: &'s str) -> Result<Ast<'s>, PtxError> {
    Parser::new(source, file)?.module()
}

/// The text of a source file, or why it is none.
pub(crate) fn check_source<'s>(source: &'s [u8], file: &str) -> Result<&'s str, PtxError> {
    let refuse = |line, message| PtxError { file: file.to_owned(), line, text: String::new(), message, nearest: None };
    if source.len() > MAX_SOURCE_BYTES {
        let message = format!("the source has {} bytes; allowed: up to {MAX_SOURCE_BYTES}", source.len());
        return Err(refuse(0, message));
    }
    let text = std::str::from_utf8(source).map_err(|e| {
        let line = 1 + source[..e.valid_up_to()].split(|&b| b == b'\n').skip(1).count() as u32;
        refuse(line, format!("byte {} is not UTF-8; allowed: PTX text, no binary", e.valid_up_to()))
    })?;
    if text.trim().is_empty() {
        return Err(refuse(0, "the source is empty; allowed: PTX text that starts with .version".to_owned()));
    }
    Ok(text)
}

/// The state of a parse.
struct Parser<'s> {
    file: &'s str,
    source: &'s str,
    lexer: Lexer<'s>,
    token: Token<'s>,
    /// Line and byte offset of `token`.
    line: u32,
    start: usize,
    /// Where the statement being read began, for the text that errors show.
    statement: (u32, usize),
    /// Names at module scope.
    globals: HashMap<&'s str, Global>,
}

/// What a name at module scope stands for.
#[derive(Debug, Clone, Copy)]
enum Global {
    /// Index into [`Ast::variables`].
    Variable(u32),
    /// A kernel.
    Entry,
    /// Index into [`Ast::callees`].
    Callee(u32),
}

type Parsed<T> = Result<T, PtxError>;

impl<'s> Parser<'s> {
    fn new(source: &'s str, file: &'s str) -> Parsed<Self> {
        let lexer = Lexer::new(source);
        let globals = HashMap::new();
        let mut parser = Self { file, source, lexer, token: Token::End, line: 1, start: 0, statement: (1, 0), globals };
        parser.advance()?;
        Ok(parser)
    }

    fn advance(&mut self) -> Parsed<Token<'s>> {
        let old = self.token;
        match self.lexer.next() {
            Ok((token, line, start)) => {
                (self.token, self.line, self.start) = (token, line, start);
                Ok(old)
            }
            Err(e) => {
                let line_start = self.source[..e.at].rfind('\n').map_or(0, |i| i + 1);
                Err(self.error_at(e.line, line_start, e.message))
            }
        }
    }

    fn begin_statement(&mut self) {
        self.statement = (self.line, self.start);
    }

    /// An error about the statement being read.
    fn error(&self, message: impl Into<String>) -> PtxError {
        self.error_at(self.statement.0, self.statement.1, message)
    }

    fn error_at(&self, line: u32, start: usize, message: impl Into<String>) -> PtxError {
        let text = self.source.get(start..).unwrap_or("");
        let text = &text[..text.find(['\n', ';']).unwrap_or(text.len())];
        PtxError { file: self.file.to_owned(), line, text: excerpt(text), message: message.into(), nearest: None }
    }

    /// An error about the token at hand.
    fn unexpected<T>(&self, allowed: &str) -> Parsed<T> {
        let message = format!("{} is not expected here; allowed: {allowed}", excerpt(&self.token.shown()));
        let mut error = self.error(message);
        error.line = self.line;
        Err(error)
    }

    fn at(&self, c: char) -> bool {
        self.token == Token::Punct(c)
    }

    fn eat(&mut self, c: char) -> Parsed<bool> {
        let found = self.at(c);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, c: char) -> Parsed<()> {
        if self.eat(c)? { Ok(()) } else { self.unexpected(&format!("{c}")) }
    }

    fn eat_dot(&mut self, word: &str) -> Parsed<bool> {
        let found = self.token == Token::Dot(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn name(&mut self, what: &str) -> Parsed<&'s str> {
        match self.token {
            Token::Word(word) if !word.contains(['.', ':']) => {
                self.advance()?;
                Ok(word)
            }
            _ => self.unexpected(what),
        }
    }

    /// A number, with its sign.
    fn immediate(&mut self) -> Parsed<Immediate> {
        let negative = self.eat('-')?;
        let inverted = !negative && self.eat('~')?;
        let value = match self.token {
            Token::Number(text) => Immediate::parse(text).map_err(|m| self.error(m))?,
            Token::Word("WARP_SZ") => Immediate::Int(32),
            _ => return self.unexpected("a number"),
        };
        self.advance()?;
        match (value, negative, inverted) {
            (Immediate::Int(v), _, true) => Ok(Immediate::Int(!v)),
            (_, _, true) => Err(self.error("~ is for integers")),
            (_, true, _) => value.negated().ok_or_else(|| self.error("- is not allowed before the bits of a float")),
            _ => Ok(value),
        }
    }

    /// A whole number from `low` to `high`.
    fn integer(&mut self, what: &str, low: u64, high: u64) -> Parsed<u64> {
        match self.immediate()? {
            Immediate::Int(v) if v >= i128::from(low) && v <= i128::from(high) => Ok(v as u64),
            Immediate::Int(v) => Err(self.error(format!("{what} {v} is not allowed; allowed: {low} to {high}"))),
            _ => Err(self.error(format!("{what} is no whole number; allowed: {low} to {high}"))),
        }
    }

    /// Everything up to and with the next `;`.
    fn skip_statement(&mut self) -> Parsed<()> {
        loop {
            match self.advance()? {
                Token::Punct(';') => return Ok(()),
                Token::End => return self.unexpected(";"),
                _ => {}
            }
        }
    }
}
