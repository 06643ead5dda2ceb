//! The instruction forms of the opcode table, for whoever asks what there is.

use serde::Serialize;

use crate::table::{Form, Slot, table};

/// One form of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FormInfo {
    /// Its first dotted part.
    pub opcode: String,
    /// The form with its operands: words in `( )` are alternatives, those in `[ ]` may be left out.
    pub syntax: String,
    /// First PTX version that has it.
    pub ptx: (u32, u32),
    /// First architecture that has it, 90 for `sm_90`.
    pub sm: u32,
    /// Words that need more than that.
    pub needs: Vec<WordNeed>,
    /// Why the strict machine refuses it, if it does.
    pub refused: Option<String>,
}

/// A word of a form that came with a later PTX version or architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WordNeed {
    /// The word, without its dot.
    pub word: String,
    /// First PTX version that has it.
    pub ptx: (u32, u32),
    /// First architecture that has it.
    pub sm: u32,
}

/// Every form that the machine knows, in the order of its opcode table.
///
/// # Errors
/// What is wrong with the table that this build carries.
pub fn forms() -> Result<Vec<FormInfo>, &'static str> {
    Ok(table()?.forms().iter().map(info).collect())
}

fn info(form: &Form) -> FormInfo {
    let needs = form.need.iter().map(|n| WordNeed { word: n.word.clone(), ptx: n.ptx, sm: n.sm });
    let refused = form.strict.as_deref() == Some("refuse");
    FormInfo {
        opcode: form.opcode.clone(),
        syntax: syntax(form),
        ptx: form.ptx,
        sm: form.sm,
        needs: needs.collect(),
        refused: refused.then(|| form.why.clone().unwrap_or_default()),
    }
}

fn syntax(form: &Form) -> String {
    let mut text = form.opcode.clone();
    form.slots.iter().for_each(|slot| text += &words(slot));
    for (i, operand) in form.operands.iter().enumerate() {
        let joined = operand.starts_with('|');
        text += if i == 0 { " " } else { ["", ", "][usize::from(!joined)] };
        text += operand;
    }
    text + ";"
}

fn words(slot: &Slot) -> String {
    let dotted: Vec<_> = slot.of.iter().map(|word| format!(".{word}")).collect();
    match (slot.optional, dotted.as_slice()) {
        (true, _) => format!("[{}]", dotted.join("|")),
        (false, [only]) => only.clone(),
        (false, _) => format!("({})", dotted.join("|")),
    }
}
