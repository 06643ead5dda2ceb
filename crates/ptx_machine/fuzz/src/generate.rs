//! Modules strung together from the opcode table, so that most of what comes out is accepted and runs.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use serde::Deserialize;

/// The part of the table that is needed to write an instruction.
#[derive(Deserialize)]
struct Table {
    op: Vec<Form>,
}

/// One form of the table.
#[derive(Debug, Deserialize)]
pub struct Form {
    opcode: String,
    slots: Vec<Slot>,
    operands: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Slot {
    name: String,
    of: Vec<String>,
    #[serde(default)]
    optional: bool,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../../py_builder_kernel/opcodes.toml")).expect("the opcode table reads")
});

/// The forms whose opcode is wanted.
pub fn forms(is_wanted: impl Fn(&str) -> bool) -> Vec<&'static Form> {
    TABLE.op.iter().filter(|form| is_wanted(&form.opcode)).collect()
}

/// Most instructions of a module.
const MOST: usize = 24;
/// Labels that branches may go to, forwards and backwards.
const LABELS: usize = 3;

const HEAD: &str = ".version 8.8
.target sm_120
.address_size 64
.shared .align 16 .b8 shared_variable[256];
.global .align 16 .b8 global_variable[256];
.const .align 16 .b8 const_variable[64] = {1, 2, 3, 4, 5, 6, 7, 8};
.func (.param .b32 back) helper(.param .b32 given) {
.reg .b32 %x;
.reg .pred %odd;
ld.param.u32 %x, [given];
st.param.b32 [back], 7;
and.b32 %x, %x, 1;
setp.eq.u32 %odd, %x, 1;
@%odd ret;
st.param.b32 [back], %x;
}
.entry k(.param .u64 p, .param .u64 q, .param .u32 n, .param .align 16 .b8 argument[16]) {
.local .align 16 .b8 local_variable[64];
.param .align 16 .b8 passed[64];
table: .branchtargets L0, L1, L2, L0;
.reg .pred %p<4>;
.reg .b16 %h<8>;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
ld.param.u64 %rd0, [p];
ld.param.u64 %rd1, [q];
ld.param.u32 %r1, [n];
mov.u32 %r0, %tid.x;
mov.u32 %r2, shared_variable;
setp.lt.u32 %p0, %r0, 5;
setp.eq.u32 %p1, %r1, %r0;
mad.wide.u32 %rd2, %r0, 4, %rd0;
mov.b64 %rd3, global_variable;
mov.b64 %rd4, 0x3ff0000000000000;
cvt.u16.u32 %h0, %r1;
mov.b16 %h1, 0x3c00;
mad.lo.u32 %r3, %r0, 4, %r2;
mov.b32 %r4, 0x3f800000;
mov.b32 %r5, -1;
";

/// Values for what the head leaves unwritten, in most modules.
const REST: &str = "mov.pred %p2, %p0;
mov.pred %p3, %p1;
mov.b32 %r6, %r0;
mov.b32 %r7, %r1;
mov.b64 {%h2, %h3, %h4, %h5}, %rd4;
mov.b32 {%h6, %h7}, %r4;
mov.b64 %rd5, %rd4;
mov.b64 %rd6, {%r4, %r5};
mov.b64 %rd7, 64;
";

/// A module of one entry, `k`.
///
/// # Errors
/// If the bytes run out, which they do only where nothing at all can be made of them.
pub fn module(u: &mut Unstructured<'_>) -> Result<String> {
    let mut text = vec![HEAD.to_owned(), if u.ratio(3u8, 4u8)? { REST } else { "" }.to_owned()];
    let forms = forms(|_| true);
    let count = u.int_in_range(1..=MOST)?;
    let places: Vec<usize> = (0..LABELS).map(|_| u.int_in_range(0..=count)).collect::<Result<_>>()?;
    for i in 0..=count {
        text.extend((0..LABELS).filter(|&label| places[label] == i).map(|label| format!("L{label}:\n")));
        if i < count {
            text.push(guarded(u, &forms)?);
        }
    }
    text.push("ret;\n}\n".to_owned());
    Ok(text.concat())
}

/// An instruction, mostly for all lanes.
fn guarded(u: &mut Unstructured<'_>, forms: &[&Form]) -> Result<String> {
    let guard = match u.int_in_range(0..=9u8)? {
        0 => "@%p0 ",
        1 => "@!%p1 ",
        2 => "@%p2 ",
        _ => "",
    };
    Ok(format!("{guard}{};\n", instruction(u, forms)?))
}

/// One instruction of some form, without guard or semicolon.
///
/// # Errors
/// If there are no forms.
pub fn instruction(u: &mut Unstructured<'_>, forms: &[&Form]) -> Result<String> {
    let form = u.choose(forms)?;
    let mut words = Vec::with_capacity(form.slots.len());
    for slot in &form.slots {
        let is_left_out = slot.optional && u.ratio(1u8, 2u8)?;
        words.push(if is_left_out { None } else { Some(u.choose(&slot.of)?.as_str()) });
    }
    let mnemonic: Vec<&str> = std::iter::once(form.opcode.as_str()).chain(words.iter().copied().flatten()).collect();
    let mut text = mnemonic.join(".");
    let mut separator = " ";
    for operand in &form.operands {
        let bare = operand.trim_end_matches('?');
        if bare != operand && u.ratio(1u8, 2u8)? {
            continue;
        }
        text += if bare.starts_with('|') { "|" } else { separator };
        text += &self::operand(u, form, &words, bare.trim_start_matches('|'))?;
        separator = ", ";
    }
    Ok(text)
}

/// Bits of a PTX type; 0 for a predicate.
fn bits(ty: &str) -> u32 {
    match ty {
        "pred" => 0,
        "f16x2" | "bf16x2" => 32,
        "e4m3x2" | "e5m2x2" => 16,
        "f32x2" => 64,
        _ => ty.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(32),
    }
}

/// An operand that fits an operand word of the form, most of the time.
fn operand(u: &mut Unstructured<'_>, form: &Form, words: &[Option<&str>], word: &str) -> Result<String> {
    let slot = |name: &str| form.slots.iter().position(|s| s.name == name).and_then(|i| words[i]);
    let (kind, name) = word.split_once(':').unwrap_or((word, ""));
    let ty = slot(name).unwrap_or(name);
    let width = match (name, slot("type")) {
        ("wide", Some(ty)) => 2 * bits(ty),
        _ => bits(ty),
    };
    match kind {
        "in" if u.ratio(1u8, 4u8)? => number(u, ty, width),
        "in" | "out" => register(u, width),
        "imm" => number(u, "u32", 32),
        "outvec" | "invec" => {
            let parts = slot("vec").map_or(1, |v| v.trim_start_matches('v').parse().unwrap_or(1));
            let parts: Vec<String> = (0..parts).map(|_| register(u, width)).collect::<Result<_>>()?;
            Ok(if slot("vec").is_some() { format!("{{{}}}", parts.join(", ")) } else { parts.concat() })
        }
        "outpack" | "inpack" => {
            let count = u.int_in_range(2..=4u32)?;
            let parts: Vec<String> = (0..count).map(|_| register(u, width / count)).collect::<Result<_>>()?;
            Ok(format!("{{{}}}", parts.join(", ")))
        }
        "pout" | "pin" => register(u, 0),
        "pin!" => Ok(format!("!{}", register(u, 0)?)),
        "addr" => address(u, slot(name).unwrap_or(name)),
        "targets" => Ok("table".to_owned()),
        "func" => Ok("helper".to_owned()),
        // What helper gives back, and what it is given; at times too much.
        "params" => Ok(format!("({})", ["%r6", "%r7", "5", "%r6, %r7"][u.int_in_range(0..=3usize)?])),
        "label" => Ok(format!("L{}", u.int_in_range(0..=LABELS - 1)?)),
        "sreg" => Ok((*u.choose(&["%tid.x", "%laneid", "%ctaid.x", "%ntid.x", "%lanemask_lt", "%clock"])?).to_owned()),
        "name" => Ok(format!("{}_variable", slot("space").unwrap_or("shared"))),
        _ => Ok("_".to_owned()),
    }
}

fn register(u: &mut Unstructured<'_>, width: u32) -> Result<String> {
    let (prefix, count) = match width {
        0 => ("%p", 4),
        16 => ("%h", 8),
        64 => ("%rd", 8),
        _ => ("%r", 8),
    };
    Ok(format!("{prefix}{}", u.int_in_range(0..=count - 1)?))
}

/// A number of the type, or a register where there are none.
fn number(u: &mut Unstructured<'_>, ty: &str, width: u32) -> Result<String> {
    let float = *u.choose(&["3f800000", "80000000", "7f800000", "00000001", "ffffffff", "c0490fdb"])?;
    Ok(match ty {
        "f32" => format!("0f{float}"),
        "f64" => format!("0d{float}00000000"),
        _ if ty == "pred" || ty.starts_with(['f', 'e', 't']) || ty.starts_with("bf") => return register(u, width),
        _ => match u.int_in_range(0..=7u8)? {
            0 => "1".to_owned(),
            1 if ty.starts_with('s') => "-1".to_owned(),
            2 if width >= 32 => u.arbitrary::<u32>()?.to_string(),
            3 if width >= 32 => "0x80000000".to_owned(),
            4 => "31".to_owned(),
            _ => u.int_in_range(0..=64u8)?.to_string(),
        },
    })
}

/// An address of the space, most of the time one that leads somewhere.
fn address(u: &mut Unstructured<'_>, space: &str) -> Result<String> {
    let base = match space {
        "shared" | "shared::cta" => *u.choose(&["%r2", "%r3", "shared_variable", "%r1"])?,
        "param" => *u.choose(&["argument", "n", "p", "passed"])?,
        "const" => "const_variable",
        "local" => "local_variable",
        _ => *u.choose(&["%rd0", "%rd1", "%rd2", "%rd3", "global_variable", "%rd4"])?,
    };
    Ok(match u.int_in_range(0..=5u8)? {
        0 => format!("[{base}+{}]", u.int_in_range(0..=255u8)?),
        1 | 2 => format!("[{base}+{}]", 16 * u.int_in_range(0..=4u8)?),
        _ => format!("[{base}]"),
    })
}
