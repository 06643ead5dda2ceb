//! Integer and float arithmetic.

use super::{Checked, Lower, Lowered};
use crate::program::{Approx, Extreme, Float, FloatMode, FloatOp, Inst, Int, IntOp, Op, Round, Shape};
use crate::types::Scalar;

impl Lower<'_, '_> {
    pub(super) fn arith(&mut self, c: &Checked<'_>) -> Lowered<Inst> {
        let ty = c.ty(0)?;
        if Float::of(ty).is_some() { self.float(c, ty) } else { self.int(c, ty) }
    }

    fn int(&mut self, c: &Checked<'_>, ty: Scalar) -> Lowered<Inst> {
        let int = Int::of(ty).ok_or_else(|| format!("{ty} is no integer type"))?;
        let wide = c.has("wide");
        let (op, sources) = match c.bound.form.opcode.as_str() {
            "add" => (IntOp::Add, 2),
            "sub" => (IntOp::Sub, 2),
            "mul" if wide => (IntOp::MulWide, 2),
            "mul" if c.has("hi") => (IntOp::MulHi, 2),
            "mul" if c.has("lo") => (IntOp::MulLo, 2),
            "mad" if wide => (IntOp::MadWide, 3),
            "mad" if c.has("hi") => (IntOp::MadHi, 3),
            "mad" if c.has("lo") => (IntOp::MadLo, 3),
            "div" => (IntOp::Div, 2),
            "rem" => (IntOp::Rem, 2),
            "abs" => (IntOp::Abs, 1),
            "neg" => (IntOp::Neg, 1),
            "min" => (IntOp::Min, 2),
            "max" => (IntOp::Max, 2),
            "sad" => (IntOp::Sad, 3),
            _ => return Err("it is no integer operation".to_owned()),
        };
        no_other_words(c, &["lo", "hi", "wide"])?;
        let mut inst = self.plain(c, Op::Int(op, int), ty, sources.min(2))?;
        if sources == 3 {
            let wide_type = if ty.bytes() == 4 { Scalar::U64 } else { Scalar::U32 };
            let addend = if op == IntOp::MadWide { wide_type } else { ty };
            inst.s[2] = self.src(Self::operand(c, 3)?, addend)?;
        }
        Ok(inst)
    }

    fn float(&mut self, c: &Checked<'_>, ty: Scalar) -> Lowered<Inst> {
        let nan = c.has("NaN");
        let approx = c.has("approx");
        let (op, sources) = match c.bound.form.opcode.as_str() {
            "add" => (FloatOp::Add, 2),
            "sub" => (FloatOp::Sub, 2),
            "mul" => (FloatOp::Mul, 2),
            "fma" | "mad" => (FloatOp::Fma, 3),
            "min" | "max" if is_extreme(c) => extreme(c),
            "min" => (FloatOp::Min { nan }, 2),
            "max" => (FloatOp::Max { nan }, 2),
            "neg" => (FloatOp::Neg, 1),
            "abs" => (FloatOp::Abs, 1),
            "div" if c.has("full") => (FloatOp::Approx(Approx::DivFull), 2),
            "div" if approx => (FloatOp::Approx(Approx::Div), 2),
            "rcp" if approx => (FloatOp::Approx(Approx::Rcp), 1),
            "sqrt" if approx => (FloatOp::Approx(Approx::Sqrt), 1),
            "div" => (FloatOp::Div, 2),
            "rcp" => (FloatOp::Rcp, 1),
            "sqrt" => (FloatOp::Sqrt, 1),
            "rsqrt" => (FloatOp::Approx(Approx::Rsqrt), 1),
            "ex2" => (FloatOp::Approx(Approx::Ex2), 1),
            "lg2" => (FloatOp::Approx(Approx::Lg2), 1),
            "sin" => (FloatOp::Approx(Approx::Sin), 1),
            "cos" => (FloatOp::Approx(Approx::Cos), 1),
            "tanh" => (FloatOp::Approx(Approx::Tanh), 1),
            _ => return Err("it is no float operation".to_owned()),
        };
        no_other_words(c, &["rn", "rz", "rm", "rp", "ftz", "sat", "relu", "NaN", "xorsign", "abs", "approx", "full"])?;
        let is_approx = matches!(op, FloatOp::Approx(_));
        let shape = shape_of(ty)?;
        self.approximate |= is_approx;
        self.plain(c, Op::Float(op, shape, mode(c)), ty, sources)
    }
}

/// Whether a minimum or maximum is more than one of two operands.
fn is_extreme(c: &Checked<'_>) -> bool {
    c.has("abs") || c.operands.len() > 3
}

fn extreme(c: &Checked<'_>) -> (FloatOp, usize) {
    let sources = c.operands.len() - 1;
    let how = Extreme {
        max: c.bound.form.opcode == "max",
        nan: c.has("NaN"),
        abs: c.has("abs"),
        xorsign: c.has("xorsign"),
        three: sources == 3,
    };
    (FloatOp::Extreme(how), sources)
}

/// The rounding and modifiers that the words say; without a word, to the nearest.
fn mode(c: &Checked<'_>) -> FloatMode {
    let round = c.bound.words.iter().flatten().find_map(|w| Round::from_word(w));
    FloatMode { round: round.unwrap_or(Round::Nearest), ftz: c.has("ftz"), sat: c.has("sat"), relu: c.has("relu") }
}

fn shape_of(ty: Scalar) -> Lowered<Shape> {
    match ty {
        Scalar::F16x2 => Ok(Shape::Pair16(Float::F16)),
        Scalar::Bf16x2 => Ok(Shape::Pair16(Float::Bf16)),
        Scalar::F32x2 => Ok(Shape::Pair32),
        _ => Float::of(ty).map(Shape::One).ok_or_else(|| format!("{ty} is no float type")),
    }
}

/// Refuses a modifier that the semantics here do not know, whatever the table says.
pub(super) fn no_other_words(c: &Checked<'_>, known: &[&str]) -> Lowered<()> {
    let unknown = c.bound.words.iter().flatten().find(|w| Scalar::from_word(w).is_none() && !known.contains(w));
    unknown.map_or(Ok(()), |word| Err(format!("modifier .{word} has no semantics here")))
}
