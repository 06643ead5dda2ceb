//! Operands against the operand words of a form.

use super::Bound;
use crate::ast::{Base, Operand, RegisterId, Symbol};
use crate::literal::Immediate;
use crate::types::{Kind, Scalar, Space};

/// What an operand's names mean.
pub(crate) trait Names {
    /// Declared type of a register.
    fn register(&self, id: RegisterId) -> Scalar;
    /// Space of a variable.
    fn space(&self, symbol: Symbol) -> Space;
}

/// An operand that does not fit: how many before it did, and what is allowed in its place.
#[derive(Debug)]
pub(crate) struct Misfit {
    pub position: usize,
    pub allowed: String,
}

/// The operands, one for each operand word of the form, `None` where one is left out.
pub(crate) fn fit_operands<'o>(
    bound: &Bound<'_>,
    operands: &'o [Operand],
    names: &impl Names,
) -> Result<Vec<Option<&'o Operand>>, Misfit> {
    let mut fitted = Vec::with_capacity(bound.form.operands.len());
    let mut position = 0;
    for word in &bound.form.operands {
        let bare = word.trim_end_matches('?');
        let joined = bare.starts_with('|');
        let bare = bare.trim_start_matches('|');
        let given = match (operands.get(position), joined) {
            (Some(Operand::Joined(second)), true) => Some(&**second),
            (Some(Operand::Joined(_)) | None, _) | (Some(_), true) => None,
            (Some(other), false) => Some(other),
        };
        let Some(operand) = given else {
            if word.ends_with('?') {
                fitted.push(None);
                continue;
            }
            return Err(Misfit { position, allowed: allowed(bound, bare) });
        };
        if !fits(bound, bare, operand, names) {
            return Err(Misfit { position, allowed: allowed(bound, bare) });
        }
        fitted.push(Some(operand));
        position += 1;
    }
    if position < operands.len() {
        return Err(Misfit { position, allowed: format!("{position} operands") });
    }
    Ok(fitted)
}

/// Whether the form takes registers wider than its types.
fn takes_wider(bound: &Bound<'_>) -> bool {
    matches!(bound.form.opcode.as_str(), "ld" | "st" | "cvt")
}

fn fits(bound: &Bound<'_>, word: &str, operand: &Operand, names: &impl Names) -> bool {
    let (kind, name) = word.split_once(':').unwrap_or((word, ""));
    let register = |ty: Scalar| match operand {
        Operand::Register(id) if takes_wider(bound) => ty.accepts_wider(names.register(*id)),
        Operand::Register(id) => ty.accepts(names.register(*id)),
        _ => false,
    };
    let scalar = bound.scalar(name);
    match kind {
        "out" => *operand == Operand::Sink || scalar.is_some_and(register),
        "in" => scalar.is_some_and(|ty| register(ty) || immediate(operand, ty)),
        "imm" => scalar.is_some_and(|ty| immediate(operand, ty)),
        "outvec" => scalar.is_some_and(|ty| vector(bound, operand, ty, names, false)),
        "invec" => scalar.is_some_and(|ty| vector(bound, operand, ty, names, true)),
        "outpack" => scalar.is_some_and(|ty| pack(operand, ty, names, true)),
        "inpack" => scalar.is_some_and(|ty| pack(operand, ty, names, false)),
        "pout" => *operand == Operand::Sink || register(Scalar::Pred),
        "pin" => register(Scalar::Pred),
        "pin!" => match operand {
            Operand::Not(id) => names.register(*id) == Scalar::Pred,
            _ => register(Scalar::Pred),
        },
        "addr" => address(bound, operand, name, names),
        "label" => matches!(operand, Operand::Label(_)),
        "targets" => matches!(operand, Operand::Targets(_)),
        "func" => matches!(operand, Operand::Function(_)),
        "params" => matches!(operand, Operand::List(_)),
        "sreg" => match operand {
            Operand::Special(special) => bound.scalar("type").is_some_and(|ty| ty.bits() == special.bits()),
            _ => false,
        },
        "name" => matches!(operand, Operand::Symbol(..)),
        _ => false,
    }
}

/// Whether the operand is a constant of the type.
fn immediate(operand: &Operand, ty: Scalar) -> bool {
    let Operand::Immediate(value) = operand else { return false };
    match (value, ty.kind()) {
        (Immediate::Int(v), Kind::Unsigned | Kind::Signed | Kind::Bits) => {
            *v >= -(1i128 << (ty.bits() - 1)) && *v < 1i128 << ty.bits()
        }
        (Immediate::F32(_) | Immediate::F64(_), Kind::Float) => ty.bytes() >= 4,
        (Immediate::F32(_), Kind::Bits) => ty.bytes() == 4,
        (Immediate::F64(_), Kind::Bits) => ty.bytes() == 8,
        _ => false,
    }
}

fn vector(bound: &Bound<'_>, operand: &Operand, ty: Scalar, names: &impl Names, is_input: bool) -> bool {
    let one = |operand: &Operand| match operand {
        Operand::Register(id) => ty.accepts_wider(names.register(*id)),
        Operand::Sink => !is_input,
        _ => is_input && immediate(operand, ty),
    };
    match (bound.word("vec").map(lanes_of), operand) {
        (None, Operand::Vector(_)) => false,
        (None, scalar) => one(scalar),
        (Some(count), Operand::Vector(parts)) => parts.len() == count && parts.iter().all(one),
        (Some(_), _) => false,
    }
}

/// The number of parts that a slot word such as `v4` says.
pub(crate) fn lanes_of(word: &str) -> usize {
    word.strip_prefix('v').and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Whether the parts of a vector together make a value of the type.
fn pack(operand: &Operand, ty: Scalar, names: &impl Names, may_drop: bool) -> bool {
    let Operand::Vector(parts) = operand else { return false };
    let part_bits = match parts.len() {
        2 | 4 => ty.bits() / parts.len() as u32,
        _ => return false,
    };
    part_bits >= 16
        && parts.iter().all(|part| match part {
            Operand::Register(id) => names.register(*id).bits() == part_bits,
            Operand::Sink => may_drop,
            _ => false,
        })
}

fn address(bound: &Bound<'_>, operand: &Operand, name: &str, names: &impl Names) -> bool {
    let Operand::Address { base, .. } = operand else { return false };
    let Some(space) = address_space(bound, name) else { return false };
    match base {
        Base::Zero => true,
        Base::Symbol(symbol) => {
            let own = names.space(*symbol);
            own == space || (space == Space::Generic && own == Space::Global)
        }
        Base::Register(id) => {
            let ty = names.register(*id);
            let narrow = matches!(space, Space::Shared | Space::Local | Space::Const | Space::Param);
            let integer = matches!(ty.kind(), Kind::Unsigned | Kind::Signed | Kind::Bits);
            integer && (ty.bytes() == 8 || (narrow && ty.bytes() == 4))
        }
    }
}

/// The space of an address operand `addr:NAME`: that of the slot, or a fixed one.
pub(crate) fn address_space(bound: &Bound<'_>, name: &str) -> Option<Space> {
    if bound.form.slots.iter().any(|slot| slot.name == name) {
        return bound.word(name).map_or(Some(Space::Generic), Space::from_word);
    }
    if name == "generic" { Some(Space::Generic) } else { Space::from_word(name) }
}

/// What an operand word allows, in words.
fn allowed(bound: &Bound<'_>, word: &str) -> String {
    let (kind, name) = word.split_once(':').unwrap_or((word, ""));
    let ty = bound.scalar(name).map_or_else(|| name.to_owned(), |ty| ty.to_string());
    let wider = if takes_wider(bound) { " or wider" } else { "" };
    match kind {
        "out" => format!("a register that fits {ty}{wider}"),
        "in" if ty == ".pred" => "a predicate register".to_owned(),
        "in" => format!("a register that fits {ty}{wider}, or a {ty} number"),
        "imm" => format!("a {ty} number"),
        "outvec" | "invec" => match bound.word("vec") {
            Some(vec) => format!("{{ }} of {} registers that fit {ty} or wider", lanes_of(vec)),
            None => format!("a register that fits {ty} or wider"),
        },
        "outpack" | "inpack" => format!("{{ }} of 2 or 4 registers that together have the bits of {ty}"),
        "pout" | "pin" => "a predicate register".to_owned(),
        "pin!" => "a predicate register, or ! and one".to_owned(),
        "addr" => match address_space(bound, name) {
            Some(Space::Generic) => "[ ] of a 64-bit register or a .global variable".to_owned(),
            Some(space) => format!("[ ] of an address register or a .{} variable", space.word()),
            None => "an address".to_owned(),
        },
        "label" => "a label".to_owned(),
        "targets" => "the name of .branchtargets".to_owned(),
        "func" => "the name of a function".to_owned(),
        "params" => "( ) of .param variables, registers or numbers".to_owned(),
        "sreg" => match bound.scalar("type") {
            Some(ty) => format!("a special register of {} bits", ty.bits()),
            None => "a special register".to_owned(),
        },
        "name" => "a variable".to_owned(),
        _ => word.to_owned(),
    }
}
