//! The form of the table that is closest to a mnemonic which has none.

use super::{Form, Table};
use crate::suggest::{closest, distance};

/// The closest mnemonic that the table has and does not refuse.
pub(crate) fn nearest_form(table: &Table, mnemonic: &str) -> Option<String> {
    let mnemonic = mnemonic.get(..mnemonic.len().min(64))?;
    let mut parts = mnemonic.split('.');
    let opcode = parts.next().unwrap_or("");
    let parts: Vec<&str> = parts.collect();
    let known = table.forms_of(opcode).next().is_some();
    let opcode = if known { opcode } else { closest(opcode, table.by_opcode.keys().map(String::as_str))? };
    let live = table.forms_of(opcode).filter(|f| f.strict.is_none());
    let given = format!("{opcode}.{}", parts.join("."));
    live.map(|form| compose(form, &parts)).min_by_key(|candidate| {
        // A word of the text that is lost weighs more than one that is added.
        let words: Vec<&str> = candidate.split('.').skip(1).collect();
        let lost = parts.iter().filter(|part| !words.contains(part)).count();
        let added = words.iter().filter(|word| !parts.contains(word)).count();
        (2 * lost + added, distance(&given, candidate))
    })
}

/// The form's mnemonic that keeps as many of `parts` as it can.
fn compose(form: &Form, parts: &[&str]) -> String {
    let mut out = form.opcode.clone();
    for slot in &form.slots {
        let kept = slot.of.iter().find(|word| parts.contains(&word.as_str())).map(String::as_str);
        let similar = || {
            let words = || slot.of.iter().map(String::as_str);
            parts.iter().find_map(|part| closest(part, words())).or_else(|| words().next())
        };
        let word = if slot.optional { kept } else { kept.or_else(similar) };
        if let Some(word) = word {
            out.push('.');
            out.push_str(word);
        }
    }
    out
}
