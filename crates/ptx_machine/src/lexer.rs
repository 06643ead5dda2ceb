//! Characters to tokens, one at a time, so that memory does not grow with the text.

/// A token, borrowing from the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'s> {
    /// A name or a mnemonic with all its dotted parts: `%r1`, `smem`, `$L__1`, `ld.global.nc.v4.b32`, `%tid.x`.
    Word(&'s str),
    /// One dotted word that stands alone: `.reg`, `.u32`; without its dot.
    Dot(&'s str),
    /// A number as written.
    Number(&'s str),
    /// A string, without its quotes.
    Text(&'s str),
    /// Any other single character.
    Punct(char),
    /// The end of the source.
    End,
}

impl Token<'_> {
    /// The token as an error shows it.
    pub fn shown(&self) -> String {
        match self {
            Token::Word(w) | Token::Number(w) => (*w).to_owned(),
            Token::Dot(w) => format!(".{w}"),
            Token::Text(w) => format!("\"{w}\""),
            Token::Punct(c) => c.to_string(),
            Token::End => "the end of the file".to_owned(),
        }
    }
}

/// What the lexer cannot read.
#[derive(Debug)]
pub(crate) struct LexError {
    pub line: u32,
    pub at: usize,
    pub message: String,
}

/// Reads tokens from a source.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'s> {
    source: &'s str,
    /// Byte offset of the next character.
    at: usize,
    /// Line of the next character, from 1.
    line: u32,
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'%')
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str) -> Self {
        Self { source, at: 0, line: 1 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.source.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, LexError> {
        Err(LexError { line: self.line, at: self.at, message: message.into() })
    }

    /// The next token, its line and the byte offset at which it starts.
    pub fn next(&mut self) -> Result<(Token<'s>, u32, usize), LexError> {
        self.skip_blank()?;
        let (line, start) = (self.line, self.at);
        let Some(&c) = self.source.as_bytes().get(self.at) else {
            return Ok((Token::End, line, start));
        };
        let token = match c {
            b'0'..=b'9' => Token::Number(self.number()),
            b'.' if is_word(self.byte(1)) => {
                self.at += 1;
                Token::Dot(self.segment())
            }
            b'"' => Token::Text(self.text()?),
            _ if is_word(c) => Token::Word(self.word()),
            b'\t'..=b'~' => {
                self.at += 1;
                Token::Punct(char::from(c))
            }
            _ => {
                let c = self.source[self.at..].chars().next().unwrap_or('\0');
                return self.fail(format!("{c:?} is no character of PTX; allowed: printable ASCII outside comments"));
            }
        };
        Ok((token, line, start))
    }

    fn skip_blank(&mut self) -> Result<(), LexError> {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'/' if self.byte(1) == b'/' => {
                    let rest = &self.source[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                b'/' if self.byte(1) == b'*' => self.skip_block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), LexError> {
        let Some(len) = self.source[self.at + 2..].find("*/") else {
            return self.fail("a comment that starts with /* is not ended with */");
        };
        let body = &self.source[self.at..self.at + len + 4];
        self.line += body.bytes().filter(|&b| b == b'\n').count() as u32;
        self.at += body.len();
        Ok(())
    }

    fn take_while(&mut self, keep: impl Fn(u8) -> bool) -> &'s str {
        let start = self.at;
        while keep(self.byte(0)) {
            self.at += 1;
        }
        &self.source[start..self.at]
    }

    /// Word characters and `::`, as in `L1::no_allocate`.
    fn segment(&mut self) -> &'s str {
        let start = self.at;
        loop {
            self.take_while(is_word);
            if self.byte(0) == b':' && self.byte(1) == b':' && is_word(self.byte(2)) {
                self.at += 2;
            } else {
                return &self.source[start..self.at];
            }
        }
    }

    fn word(&mut self) -> &'s str {
        let start = self.at;
        self.segment();
        while self.byte(0) == b'.' && is_word(self.byte(1)) {
            self.at += 1;
            self.segment();
        }
        &self.source[start..self.at]
    }

    /// `12`, `0x1f`, `0f3F800000`, `8.5`, `1.5e-3`.
    fn number(&mut self) -> &'s str {
        let start = self.at;
        self.take_while(|c| c.is_ascii_alphanumeric());
        let plain = self.source[start..self.at].bytes().all(|c| c.is_ascii_digit());
        if plain && self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.take_while(|c| c.is_ascii_alphanumeric());
        }
        let hex = self.source[start..self.at].starts_with("0x") || self.source[start..self.at].starts_with("0X");
        let exponent = matches!(self.source.as_bytes()[self.at - 1], b'e' | b'E');
        if exponent && !hex && matches!(self.byte(0), b'+' | b'-') && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit());
        }
        &self.source[start..self.at]
    }

    fn text(&mut self) -> Result<&'s str, LexError> {
        let start = self.at + 1;
        let rest = &self.source[start..];
        match rest.find(['"', '\n']) {
            Some(len) if rest.as_bytes()[len] == b'"' => {
                self.at = start + len + 1;
                Ok(&rest[..len])
            }
            _ => self.fail("a string is not ended on its line"),
        }
    }
}
