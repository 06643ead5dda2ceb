//! Variables in memory: `.shared .align 16 .b8 tile[1024];`, `.const .f32 table[2] = {1.0, 0f40000000};`.

use super::function::MAX_PARAM_BYTES;
use super::{Parsed, Parser};
use crate::ast::Variable;
use crate::lexer::Token;
use crate::literal::Immediate;
use crate::types::{Scalar, Space};

/// Most variables of a module or function.
pub(super) const MAX_VARIABLES: usize = 4096;

/// Most bytes of one variable, and of all that a kernel has, by space: what a device could ever have.
pub(crate) fn max_bytes(space: Space) -> u64 {
    match space {
        Space::Shared => 227 << 10,
        Space::Const => 64 << 10,
        Space::Local => 512 << 10,
        Space::Param => MAX_PARAM_BYTES as u64,
        _ => 1 << 30,
    }
}

impl<'s> Parser<'s> {
    /// One declaration, from its space to its semicolon: names and what they name.
    pub(super) fn variables(&mut self, external: bool) -> Parsed<Vec<(&'s str, Variable)>> {
        let Token::Dot(space) = self.token else { return self.unexpected("a state space") };
        let Some(space) = Space::from_word(space) else {
            return self.unexpected(".global, .const, .shared, .local or .param");
        };
        self.advance()?;
        let mut align = None;
        let mut vector = 1;
        let ty = loop {
            let Token::Dot(word) = self.token else { return self.unexpected("a type such as .b32") };
            self.advance()?;
            match word {
                "align" => align = Some(self.alignment()?),
                "v2" => vector = 2,
                "v4" => vector = 4,
                "attribute" => {
                    return Err(self.error(".attribute is not supported; allowed: .align, .v2, .v4 and a type"));
                }
                _ => match Scalar::from_word(word).filter(|t| t.bytes() > 0) {
                    Some(ty) => break ty,
                    None => {
                        return Err(
                            self.error(format!(".{word} is no type of a variable; allowed: {}", memory_types()))
                        );
                    }
                },
            }
        };
        let element = ty.bytes() * vector;
        let align = align.unwrap_or(element);
        let mut found = Vec::new();
        loop {
            found.push(self.variable(space, ty, element, align, external)?);
            if !self.eat(',')? {
                break;
            }
        }
        self.expect(';')?;
        Ok(found)
    }

    pub(super) fn alignment(&mut self) -> Parsed<u32> {
        let align = self.integer("alignment", 1, 1 << 16)? as u32;
        if align.is_power_of_two() {
            Ok(align)
        } else {
            Err(self.error(format!("alignment {align} is not allowed; allowed: a power of two up to 65536")))
        }
    }

    fn variable(
        &mut self,
        space: Space,
        ty: Scalar,
        element: u32,
        align: u32,
        external: bool,
    ) -> Parsed<(&'s str, Variable)> {
        let name = self.name("a name")?;
        let mut count = 1u64;
        let mut open = false;
        while self.eat('[')? {
            if self.eat(']')? {
                open = true;
                continue;
            }
            let n = self.integer("array size", 1, 1 << 32)?;
            count = count.saturating_mul(n);
            self.expect(']')?;
        }
        let mut initial = Vec::new();
        if self.eat('=')? {
            if matches!(space, Space::Shared | Space::Local | Space::Param) {
                return Err(self.error(format!("a {} variable has no initial value", space.word())));
            }
            self.initial(ty, &mut initial, max_bytes(space), 0)?;
            if open {
                count = (initial.len() as u64).div_ceil(u64::from(element));
                open = false;
            }
        }
        let dynamic = open || external;
        if dynamic && !(external && space == Space::Shared) {
            return Err(
                self.error(format!("{name} has no definition; allowed: .extern .shared for dynamic shared memory"))
            );
        }
        let bytes = if dynamic { 0 } else { count.saturating_mul(u64::from(element)) };
        if bytes > max_bytes(space) || initial.len() as u64 > bytes {
            let most = if bytes > max_bytes(space) { max_bytes(space) } else { bytes };
            let size = bytes.max(initial.len() as u64);
            return Err(self.error(format!("{name} of {size} bytes is too large; allowed: {most} bytes")));
        }
        Ok((name, Variable { name: name.to_owned(), space, align, bytes, dynamic, initial }))
    }

    /// An initial value: a number, or a list of them in braces.
    fn initial(&mut self, ty: Scalar, out: &mut Vec<u8>, most: u64, depth: u32) -> Parsed<()> {
        if !self.eat('{')? {
            let value = self.immediate()?;
            let bytes = initial_bytes(value, ty).map_err(|m| self.error(m))?;
            out.extend_from_slice(&bytes[..ty.bytes() as usize]);
            if out.len() as u64 > most {
                return Err(self.error(format!("the initial value is too large; allowed: {most} bytes")));
            }
            return Ok(());
        }
        if depth == 8 {
            return Err(self.error("the initial value is nested too deeply; allowed: 8 levels"));
        }
        while !self.eat('}')? {
            self.initial(ty, out, most, depth + 1)?;
            if !self.at('}') {
                self.expect(',')?;
            }
        }
        Ok(())
    }
}

fn initial_bytes(value: Immediate, ty: Scalar) -> Result<[u8; 8], String> {
    let bits = match (value, ty) {
        (Immediate::Int(v), Scalar::F32) => u64::from((v as f32).to_bits()),
        (Immediate::Int(v), Scalar::F64) => (v as f64).to_bits(),
        (Immediate::Int(v), _) => {
            let bits = ty.bits();
            if v < -(1i128 << (bits - 1)) || v >= 1i128 << bits {
                return Err(format!("initial value {v} does not fit {ty}"));
            }
            v as u64
        }
        (Immediate::F32(b), Scalar::F32 | Scalar::B32) => u64::from(b),
        (Immediate::F64(b), Scalar::F64 | Scalar::B64) => b,
        (Immediate::F64(b), Scalar::F32) => u64::from((f64::from_bits(b) as f32).to_bits()),
        (Immediate::F32(b), Scalar::F64) => f64::from(f32::from_bits(b)).to_bits(),
        _ => return Err(format!("a float is no initial value of {ty}")),
    };
    Ok(bits.to_le_bytes())
}

fn memory_types() -> String {
    let words: Vec<_> = Scalar::ALL.iter().filter(|t| t.bytes() > 0).map(|t| t.word()).collect();
    words.join(", ")
}
