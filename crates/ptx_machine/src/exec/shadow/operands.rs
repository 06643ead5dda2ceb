//! In which file each operand of an instruction lies.

use super::File;
use crate::program::{BitOp, Carry, CmpType, Float, Int, IntOp, Join, Op, Shape};

/// Files of the operands `s0`, `s1`, … that an instruction computes with; none for an instruction that is not listed.
pub(super) fn files(op: Op) -> Vec<File> {
    match op {
        Op::Mov32 => vec![File::Narrow],
        Op::Mov64 | Op::IsSpace(_) => vec![File::Wide],
        Op::MovPred | Op::PredLogic(BitOp::Not) => vec![File::Pred],
        Op::Pack { count, .. } => vec![File::Narrow; usize::from(count)],
        Op::Unpack { part, count } => vec![sized(u32::from(part) * u32::from(count))],
        Op::Int(op, ty) => int(op, ty),
        Op::Bits(op, ty) => bits(op, of_int(ty)),
        Op::PredLogic(_) => vec![File::Pred; 2],
        Op::Float(_, shape, _) => vec![of_shape(shape); 3],
        Op::Setp(_, ty, how) | Op::Set(_, ty, how, _) => {
            let mut files = vec![compared(ty); 2];
            files.extend((how != Join::None).then_some(File::Pred));
            files
        }
        Op::Selp32 => vec![File::Narrow, File::Narrow, File::Pred],
        Op::Selp64 => vec![File::Wide, File::Wide, File::Pred],
        Op::Slct { wide: true, .. } => vec![File::Wide, File::Wide, File::Narrow],
        Op::Slct { .. } | Op::Word(_) => vec![File::Narrow; 3],
        Op::Cvt(cvt) if cvt.is_pair() => vec![File::Narrow; 2],
        Op::Cvt(cvt) => vec![if cvt.from_wide { File::Wide } else { File::Narrow }],
        Op::Carry(how) => carry(how),
        Op::Lop3Test { .. } => vec![File::Narrow, File::Narrow, File::Narrow, File::Pred],
        Op::Copysign(float) => vec![of_float(float); 2],
        Op::Testp(_, float) => vec![of_float(float)],
        Op::Vote(_) => vec![File::Pred, File::Narrow],
        _ => Vec::new(),
    }
}

/// The carry, where it is read, is the last operand.
fn carry(how: Carry) -> Vec<File> {
    let own = if how.wide { File::Wide } else { File::Narrow };
    if how.reads && how.is_product() { vec![own, own, own, File::Pred] } else { vec![own; 3] }
}

fn sized(bits: u32) -> File {
    if bits > 32 { File::Wide } else { File::Narrow }
}

fn of_int(ty: Int) -> File {
    sized(ty.bits())
}

fn of_float(float: Float) -> File {
    if float == Float::F64 { File::Wide } else { File::Narrow }
}

fn of_shape(shape: Shape) -> File {
    match shape {
        Shape::One(float) => of_float(float),
        Shape::Pair16(_) => File::Narrow,
        Shape::Pair32 => File::Wide,
    }
}

fn compared(ty: CmpType) -> File {
    match ty {
        CmpType::Int(ty) => of_int(ty),
        CmpType::Float(float, _) | CmpType::Pair(float, _) => of_float(float),
    }
}

fn int(op: IntOp, ty: Int) -> Vec<File> {
    let own = of_int(ty);
    match op {
        IntOp::Neg | IntOp::Abs => vec![own],
        IntOp::MadLo | IntOp::MadHi | IntOp::Sad => vec![own; 3],
        IntOp::MadWide => vec![own, own, sized(2 * ty.bits())],
        _ => vec![own; 2],
    }
}

fn bits(op: BitOp, own: File) -> Vec<File> {
    match op {
        BitOp::And | BitOp::Or | BitOp::Xor => vec![own; 2],
        BitOp::Not | BitOp::Cnot | BitOp::Brev | BitOp::Clz | BitOp::Popc | BitOp::Bfind { .. } => vec![own],
        BitOp::Shl | BitOp::Shr => vec![own, File::Narrow],
        BitOp::Bfe => vec![own, File::Narrow, File::Narrow],
        BitOp::Bfi => vec![own, own, File::Narrow, File::Narrow],
        BitOp::Lop3 { .. } => vec![own; 3],
        BitOp::Shf { .. } | BitOp::Prmt(_) => vec![File::Narrow; 3],
    }
}
