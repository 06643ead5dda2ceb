//! Bits, comparisons, selections and moves.

use super::arith::no_other_words;
use super::{Checked, Lower, Lowered};
use crate::ast::Operand;
use crate::literal::Immediate;
use crate::program::{BitOp, Cmp, CmpType, Float, Inst, Int, IntOp, Join, Op, Prmt, SetResult, Testp};
use crate::types::{Kind, Scalar};

impl Lower<'_, '_> {
    pub(super) fn bits(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        if c.bound.form.opcode == "lop3" && c.bound.word("bool").is_some() {
            return self.lop3_test(c);
        }
        let ty = c.ty(0)?;
        let (op, sources) = bit_op(c)?;
        no_other_words(c, &["l", "r", "wrap", "clamp", "shiftamt", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])?;
        if ty == Scalar::Pred {
            return self.plain(c, Op::PredLogic(op), ty, sources);
        }
        let int = Int::of(ty).ok_or_else(|| format!("{ty} is no integer type"))?;
        let result = match op {
            BitOp::Clz | BitOp::Popc | BitOp::Bfind { .. } => Scalar::U32,
            _ => ty,
        };
        let mut inst = Inst::new(Op::Bits(op, int));
        inst.d[0] = self.dst(Self::operand(c, 0)?, result)?;
        for i in 0..sources {
            // Amounts and positions are 32 bits wide, whatever the type.
            let amount = match op {
                BitOp::Shl | BitOp::Shr => i == 1,
                BitOp::Shf { .. } | BitOp::Bfi | BitOp::Prmt(_) => i >= 2,
                BitOp::Bfe => i >= 1,
                _ => false,
            };
            inst.s[i] = self.src(Self::operand(c, i + 1)?, if amount { Scalar::U32 } else { ty })?;
        }
        Ok(inst)
    }

    /// `lop3.or.b32 d|p, a, b, c, table, q`.
    fn lop3_test(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        no_other_words(c, &["and", "or"])?;
        let join = if c.has("and") { Join::And } else { Join::Or };
        let mut inst = Inst::new(Op::Lop3Test { table: lop3_table(Self::operand(c, 5)?)?, join });
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::B32)?;
        inst.d[1] = self.dst(Self::operand(c, 1)?, Scalar::Pred)?;
        for i in 0..3 {
            inst.s[i] = self.src(Self::operand(c, i + 2)?, Scalar::B32)?;
        }
        inst.s[3] = self.src(Self::operand(c, 6)?, Scalar::Pred)?;
        Ok(inst)
    }

    pub(super) fn compare(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        match c.bound.form.opcode.as_str() {
            "setp" => self.setp(c),
            "set" => self.set(c),
            "selp" => self.selp(c),
            "slct" => self.slct(c),
            "copysign" => {
                let ty = c.ty(0)?;
                let float = Float::of(ty).ok_or("it is for floats")?;
                self.plain(c, Op::Copysign(float), ty, 2)
            }
            _ => self.testp(c),
        }
    }

    fn testp(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let ty = c.ty(0)?;
        let float = Float::of(ty).ok_or("it is for floats")?;
        let test = c.bound.words.iter().flatten().find_map(|w| match *w {
            "finite" => Some(Testp::Finite),
            "infinite" => Some(Testp::Infinite),
            "number" => Some(Testp::Number),
            "notanumber" => Some(Testp::NotANumber),
            "normal" => Some(Testp::Normal),
            "subnormal" => Some(Testp::Subnormal),
            _ => None,
        });
        let mut inst = Inst::new(Op::Testp(test.ok_or("it names no test")?, float));
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::Pred)?;
        inst.s[0] = self.src(Self::operand(c, 1)?, ty)?;
        Ok(inst)
    }

    fn setp(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let ty = c.ty(0)?;
        let (cmp, join) = comparison(c)?;
        let mut inst = Inst::new(Op::Setp(cmp, compared(ty, c.has("ftz"))?, join));
        inst.d[0] = self.dst(Self::operand(c, 0)?, Scalar::Pred)?;
        // Some forms have no second result.
        let first = if c.bound.form.operands.get(1).is_some_and(|word| word.starts_with('|')) { 2 } else { 1 };
        if let Some(second) = c.operands[1..first].first().copied().flatten() {
            inst.d[1] = self.dst(second, Scalar::Pred)?;
        }
        inst.s[0] = self.src(Self::operand(c, first)?, ty)?;
        inst.s[1] = self.src(Self::operand(c, first + 1)?, ty)?;
        if join != Join::None {
            inst.s[2] = self.src(Self::operand(c, first + 2)?, Scalar::Pred)?;
        }
        Ok(inst)
    }

    fn set(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let (to, ty) = (c.ty(0)?, c.ty(1)?);
        let (cmp, join) = comparison(c)?;
        let result = match Float::of(to) {
            Some(float) => SetResult::One(float),
            None if to.bytes() == 2 || ty.kind() == Kind::Packed => SetResult::Ones16,
            None => SetResult::Ones,
        };
        if to.bytes() > 4 {
            return Err(format!("a result of {to} has no semantics here"));
        }
        let mut inst = Inst::new(Op::Set(cmp, compared(ty, c.has("ftz"))?, join, result));
        inst.d[0] = self.dst(Self::operand(c, 0)?, to)?;
        inst.s[0] = self.src(Self::operand(c, 1)?, ty)?;
        inst.s[1] = self.src(Self::operand(c, 2)?, ty)?;
        if join != Join::None {
            inst.s[2] = self.src(Self::operand(c, 3)?, Scalar::Pred)?;
        }
        Ok(inst)
    }

    fn selp(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let ty = c.ty(0)?;
        let mut inst = self.plain(c, if ty.bytes() == 8 { Op::Selp64 } else { Op::Selp32 }, ty, 2)?;
        inst.s[2] = self.src(Self::operand(c, 3)?, Scalar::Pred)?;
        Ok(inst)
    }

    fn slct(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let (ty, by) = (c.ty(0)?, c.ty(1)?);
        let op = Op::Slct { wide: ty.bytes() == 8, by: compared(by, c.has("ftz"))? };
        let mut inst = self.plain(c, op, ty, 2)?;
        inst.s[2] = self.src(Self::operand(c, 3)?, by)?;
        Ok(inst)
    }

    pub(super) fn mov(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let ty = c.ty(0)?;
        let op = match ty.bytes() {
            0 => Op::MovPred,
            8 => Op::Mov64,
            _ => Op::Mov32,
        };
        match (Self::operand(c, 0)?, Self::operand(c, 1)?) {
            (to @ Operand::Register(_), Operand::Vector(parts)) => {
                let (part, count) = (ty.bits() / parts.len() as u32, parts.len());
                let mut inst = Inst::new(Op::Pack { part: part as u8, count: count as u8 });
                inst.d[0] = self.dst(to, ty)?;
                for (slot, operand) in inst.s.iter_mut().zip(parts) {
                    *slot = self.src(operand, Scalar::B32)?;
                }
                Ok(inst)
            }
            (Operand::Vector(parts), from) => {
                let (part, count) = (ty.bits() / parts.len() as u32, parts.len());
                let mut inst = Inst::new(Op::Unpack { part: part as u8, count: count as u8 });
                inst.s[0] = self.src(from, ty)?;
                for (slot, operand) in inst.d.iter_mut().zip(parts) {
                    *slot = self.dst(operand, Scalar::B32)?;
                }
                Ok(inst)
            }
            (to, Operand::Symbol(symbol, offset)) => self.mov_symbol(to, *symbol, *offset, ty),
            (to, Operand::Special(special)) => self.mov_special(c, to, *special, ty),
            (to, Operand::Immediate(_)) if ty == Scalar::Pred => {
                let mut inst = Inst::new(Op::Setp(Cmp::Ne, CmpType::Int(Int::S32), Join::None));
                inst.d[0] = self.dst(to, ty)?;
                inst.s[0] = self.src(Self::operand(c, 1)?, Scalar::S32)?;
                inst.s[1] = self.slots.constant(0, Scalar::S32);
                Ok(inst)
            }
            _ => self.plain(c, op, ty, 1),
        }
    }

    /// `mov.u64 %rd, variable+offset`.
    fn mov_symbol(&mut self, to: &Operand, symbol: crate::ast::Symbol, offset: i64, ty: Scalar) -> Lowered<Inst> {
        let to = self.dst(to, ty)?;
        let known = self.layout.address(self.body, symbol);
        let mut inst = match known {
            super::layout::Address::Known(address) => {
                let mut inst = Inst::new(if ty.bytes() == 8 { Op::Mov64 } else { Op::Mov32 });
                let bits = address.wrapping_add(offset as u64);
                inst.s[0] = self.slots.constant(if ty.bytes() == 8 { bits } else { bits & 0xffff_ffff }, ty);
                inst
            }
            super::layout::Address::Global(_) if ty.bytes() != 8 => {
                return Err("the address of a .global variable has 64 bits".to_owned());
            }
            super::layout::Address::Global(index) => {
                let mut inst = Inst::new(Op::Int(IntOp::Add, Int::U64));
                inst.s[0] = self.slots.global(index);
                inst.s[1] = self.slots.constant(offset as u64, Scalar::U64);
                inst
            }
        };
        inst.d[0] = to;
        Ok(inst)
    }
}

fn bit_op(c: &Checked<'_>) -> Lowered<(BitOp, usize)> {
    Ok(match c.bound.form.opcode.as_str() {
        "and" => (BitOp::And, 2),
        "or" => (BitOp::Or, 2),
        "xor" => (BitOp::Xor, 2),
        "not" => (BitOp::Not, 1),
        "cnot" => (BitOp::Cnot, 1),
        "shl" => (BitOp::Shl, 2),
        "shr" => (BitOp::Shr, 2),
        "shf" => (BitOp::Shf { left: c.has("l"), wrap: c.has("wrap") }, 3),
        "bfe" => (BitOp::Bfe, 3),
        "bfi" => (BitOp::Bfi, 4),
        "bfind" => (BitOp::Bfind { shift: c.has("shiftamt") }, 1),
        "brev" => (BitOp::Brev, 1),
        "clz" => (BitOp::Clz, 1),
        "popc" => (BitOp::Popc, 1),
        "prmt" => (BitOp::Prmt(prmt_mode(c)), 3),
        "lop3" => (BitOp::Lop3 { table: lop3_table(Lower::operand(c, 4)?)? }, 3),
        _ => return Err("it is no operation on bits".to_owned()),
    })
}

fn lop3_table(operand: &Operand) -> Lowered<u8> {
    match operand {
        Operand::Immediate(Immediate::Int(table)) if (0..256).contains(table) => Ok(*table as u8),
        _ => Err("its table is no number from 0 to 255".to_owned()),
    }
}

fn prmt_mode(c: &Checked<'_>) -> Prmt {
    let modes = [
        ("f4e", Prmt::F4e),
        ("b4e", Prmt::B4e),
        ("rc8", Prmt::Rc8),
        ("ecl", Prmt::Ecl),
        ("ecr", Prmt::Ecr),
        ("rc16", Prmt::Rc16),
    ];
    modes.iter().find(|(word, _)| c.has(word)).map_or(Prmt::Index, |(_, mode)| *mode)
}

/// The comparison and how it is joined with a predicate.
fn comparison(c: &Checked<'_>) -> Lowered<(Cmp, Join)> {
    no_other_words(
        c,
        &[
            "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
            "num", "nan", "and", "or", "xor", "ftz",
        ],
    )?;
    let cmp = c.bound.words.iter().flatten().find_map(|word| match *word {
        "eq" => Some(Cmp::Eq),
        "ne" => Some(Cmp::Ne),
        "lt" | "lo" => Some(Cmp::Lt),
        "le" | "ls" => Some(Cmp::Le),
        "gt" | "hi" => Some(Cmp::Gt),
        "ge" | "hs" => Some(Cmp::Ge),
        "equ" => Some(Cmp::Equ),
        "neu" => Some(Cmp::Neu),
        "ltu" => Some(Cmp::Ltu),
        "leu" => Some(Cmp::Leu),
        "gtu" => Some(Cmp::Gtu),
        "geu" => Some(Cmp::Geu),
        "num" => Some(Cmp::Num),
        "nan" => Some(Cmp::Nan),
        _ => None,
    });
    let join = match () {
        () if c.has("and") => Join::And,
        () if c.has("or") => Join::Or,
        () if c.has("xor") => Join::Xor,
        () => Join::None,
    };
    Ok((cmp.ok_or("it names no comparison")?, join))
}

fn compared(ty: Scalar, ftz: bool) -> Lowered<CmpType> {
    let int = Int::of(ty).map(CmpType::Int);
    let float = || match ty {
        Scalar::F16x2 | Scalar::Bf16x2 => Float::of(ty).map(|f| CmpType::Pair(f, ftz)),
        _ => Float::of(ty).map(|f| CmpType::Float(f, ftz)),
    };
    int.or_else(float).ok_or_else(|| format!("comparing {ty} has no semantics here"))
}
