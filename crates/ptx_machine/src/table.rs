//! The opcode table `opcodes.toml`: which dotted forms there are, and what operands they take.

mod nearest;
mod operands;

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::types::Scalar;

pub(crate) use nearest::nearest_form;
#[cfg(test)]
pub(crate) use operands::lanes_of;
pub(crate) use operands::{Names, fit_operands};

const TEXT: &str = include_str!("../../../py_builder_kernel/opcodes.toml");
/// The version of the table's schema that is read here.
const SCHEMA: u32 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: u32,
    op: Vec<Form>,
}

/// One `[[op]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Form {
    pub opcode: String,
    pub slots: Vec<Slot>,
    pub operands: Vec<String>,
    #[serde(deserialize_with = "version")]
    pub ptx: (u32, u32),
    pub sm: u32,
    #[serde(default)]
    pub need: Vec<Need>,
    /// `refuse`, or none.
    pub strict: Option<String>,
    pub why: Option<String>,
}

/// One dotted part of a form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slot {
    pub name: String,
    pub of: Vec<String>,
    #[serde(default)]
    pub optional: bool,
}

/// A word that needs a later PTX version or architecture than its form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Need {
    pub slot: String,
    pub word: String,
    #[serde(deserialize_with = "version")]
    pub ptx: (u32, u32),
    pub sm: u32,
}

fn version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(u32, u32), D::Error> {
    let text = String::deserialize(deserializer)?;
    let parsed = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed.ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no PTX version")))
}

/// All forms, in the order of the file.
#[derive(Debug)]
pub(crate) struct Table {
    forms: Vec<Form>,
    by_opcode: HashMap<String, Vec<usize>>,
}

static TABLE: LazyLock<Result<Table, String>> = LazyLock::new(|| {
    let file: File = toml::from_str(TEXT).map_err(|e| e.to_string())?;
    if file.schema != SCHEMA {
        return Err(format!("schema {} is not supported; allowed: {SCHEMA}", file.schema));
    }
    let mut by_opcode = HashMap::<_, Vec<_>>::new();
    for (i, form) in file.op.iter().enumerate() {
        by_opcode.entry(form.opcode.clone()).or_default().push(i);
    }
    Ok(Table { forms: file.op, by_opcode })
});

/// The table that this build carries, or what is wrong with it.
pub(crate) fn table() -> Result<&'static Table, &'static str> {
    TABLE.as_ref().map_err(String::as_str)
}

/// A form with the words that a mnemonic puts into its slots.
#[derive(Debug, Clone)]
pub(crate) struct Bound<'t> {
    pub form: &'t Form,
    /// The word in each slot; `None` where an optional one is left out.
    pub words: Vec<Option<&'t str>>,
}

impl Table {
    /// All forms, in the order of the file.
    pub fn forms(&self) -> &[Form] {
        &self.forms
    }

    pub fn forms_of<'t>(&'t self, opcode: &str) -> impl Iterator<Item = &'t Form> + Clone + use<'t> {
        self.by_opcode.get(opcode).map_or(&[][..], Vec::as_slice).iter().map(|&i| &self.forms[i])
    }

    /// Every form that the mnemonic may be, in the order of the file.
    pub fn bind<'t>(&'t self, mnemonic: &str) -> Vec<Bound<'t>> {
        let mut parts = mnemonic.split('.');
        let opcode = parts.next().unwrap_or("");
        let parts: Vec<&str> = parts.collect();
        let mut found = Vec::new();
        for form in self.forms_of(opcode) {
            // More parts than slots cannot fit; this also bounds the search.
            if parts.len() <= form.slots.len() {
                fill(form, &parts, &mut Vec::new(), &mut found);
            }
        }
        found
    }
}

/// Adds every way in which `parts` fill the slots of `form` behind those in `words`, optional slots filled first.
fn fill<'t>(form: &'t Form, parts: &[&str], words: &mut Vec<Option<&'t str>>, found: &mut Vec<Bound<'t>>) {
    let Some(slot) = form.slots.get(words.len()) else {
        if parts.is_empty() {
            found.push(Bound { form, words: words.clone() });
        }
        return;
    };
    if let Some(word) = parts.first().and_then(|part| slot.of.iter().find(|word| word == part)) {
        words.push(Some(word));
        fill(form, &parts[1..], words, found);
        words.pop();
    }
    if slot.optional {
        words.push(None);
        fill(form, parts, words, found);
        words.pop();
    }
}

impl<'t> Bound<'t> {
    /// The word in the slot named `slot`.
    pub fn word(&self, slot: &str) -> Option<&'t str> {
        let at = self.form.slots.iter().position(|s| s.name == slot)?;
        self.words[at]
    }

    /// Whether some slot holds `word`.
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(&Some(word))
    }

    /// The types among the words, in order.
    pub fn types(&self) -> Vec<Scalar> {
        self.words.iter().flatten().filter_map(|w| Scalar::from_word(w)).collect()
    }

    /// The type that `name` in an operand word such as `in:NAME` means.
    pub fn scalar(&self, name: &str) -> Option<Scalar> {
        if name == "wide" {
            return self.word("type").and_then(Scalar::from_word).and_then(twice);
        }
        Scalar::from_word(self.word(name).unwrap_or(name))
    }

    /// First PTX version and architecture that have the form with these words.
    pub fn requirements(&self) -> ((u32, u32), u32) {
        let needs = self.form.need.iter().filter(|n| self.word(&n.slot) == Some(&n.word));
        needs.fold((self.form.ptx, self.form.sm), |(ptx, sm), n| (ptx.max(n.ptx), sm.max(n.sm)))
    }

    /// Why the strict machine refuses the form, if it does.
    pub fn refused(&self) -> Option<&'t str> {
        let reason = || self.form.why.as_deref().unwrap_or("it has no exact definition");
        (self.form.strict.as_deref() == Some("refuse")).then(reason)
    }
}

/// The integer type of twice the width.
fn twice(ty: Scalar) -> Option<Scalar> {
    match ty {
        Scalar::U16 => Some(Scalar::U32),
        Scalar::S16 => Some(Scalar::S32),
        Scalar::U32 => Some(Scalar::U64),
        Scalar::S32 => Some(Scalar::S64),
        _ => None,
    }
}
