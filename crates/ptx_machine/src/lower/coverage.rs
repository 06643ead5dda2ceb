//! Every form of the opcode table is executed, or refused in strict mode with its reason: none is only parsed.

use crate::Module;
use crate::table::{Form, lanes_of, table};
use crate::types::Scalar;

/// Every way to fill the slots of a form: for each slot its word, or none.
fn fillings(form: &Form) -> Vec<Vec<Option<&str>>> {
    let mut all: Vec<Vec<Option<&str>>> = vec![Vec::new()];
    for slot in &form.slots {
        let words = slot.of.iter().map(|w| Some(w.as_str())).chain(slot.optional.then_some(None));
        let words: Vec<_> = words.collect();
        all = all.iter().flat_map(|head| words.iter().map(|&w| head.iter().copied().chain([w]).collect())).collect();
    }
    all.retain(|words| !is_too_wide(words) && !is_idle(form, words));
    all
}

/// A conversion that cannot leave its range is not saturated.
fn is_idle(form: &Form, words: &[Option<&str>]) -> bool {
    let types: Vec<_> = words.iter().flatten().filter_map(|w| Scalar::from_word(w)).collect();
    form.opcode == "cvt" && words.contains(&Some("sat")) && super::convert::holds_all(types[0], types[1])
}

/// Four parts of 64 bits exist in global memory only.
fn is_too_wide(words: &[Option<&str>]) -> bool {
    let has = |word| words.contains(&Some(word));
    let is_elsewhere = ["shared", "shared::cta", "local", "const", "param"].into_iter().any(has);
    is_elsewhere && has("v4") && ["b64", "u64", "s64", "f64"].into_iter().any(has)
}

/// A register of the width that the type has.
fn register(ty: Scalar, number: usize) -> String {
    match ty.bytes() {
        0 => format!("%p{number}"),
        2 => format!("%h{number}"),
        8 => format!("%rd{number}"),
        _ => format!("%r{number}"),
    }
}

fn braces(parts: impl Iterator<Item = String>) -> String {
    format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
}

/// An operand that fits an operand word, or nothing to write.
fn operand(form: &Form, words: &[Option<&str>], word: &str, number: usize) -> String {
    let slot = |name: &str| form.slots.iter().position(|s| s.name == name).and_then(|i| words[i]);
    let (kind, name) = word.split_once(':').unwrap_or((word, ""));
    let ty = if name == "wide" {
        if slot("type").is_some_and(|t| t.ends_with("32")) { Some(Scalar::B64) } else { Some(Scalar::B32) }
    } else {
        Scalar::from_word(slot(name).unwrap_or(name))
    };
    let ty = ty.unwrap_or(Scalar::B32);
    match kind {
        "out" | "in" => register(ty, number),
        "imm" if form.opcode == "cp" => "16".to_owned(),
        "imm" => "3".to_owned(),
        "outvec" | "invec" => match slot("vec") {
            Some(vec) => braces((0..lanes_of(vec)).map(|i| register(ty, 4 * number + i))),
            None => register(ty, number),
        },
        "outpack" | "inpack" => {
            let part = if ty.bytes() == 8 { Scalar::B32 } else { Scalar::B16 };
            braces((0..2).map(|i| register(part, 2 * number + i)))
        }
        "pout" | "pin" => format!("%p{number}"),
        "pin!" => format!("!%p{number}"),
        "addr" if form.opcode == "st" && slot(name) == Some("param") => "[passed]".to_owned(),
        "addr" if slot(name).unwrap_or(name) == "param" => "[argument]".to_owned(),
        "addr" if name == "shared" => "[%r0+32]".to_owned(),
        "addr" => "[%rd0+32]".to_owned(),
        "label" => "end".to_owned(),
        "targets" => "table".to_owned(),
        "func" => "helper".to_owned(),
        "sreg" => if slot("type").is_some_and(|t| t.ends_with("64")) { "%clock64" } else { "%tid.x" }.to_owned(),
        "name" => format!("{}_variable", slot("space").unwrap_or("shared")),
        _ => panic!("operand word {word} has no example"),
    }
}

/// One instruction of the form, with all its operands or without those that may be left out.
fn instruction(form: &Form, words: &[Option<&str>], full: bool) -> String {
    let mut text = form.opcode.clone();
    for word in words.iter().flatten() {
        text.push('.');
        text.push_str(word);
    }
    let mut first = true;
    let written = |word: &str| word != "params" && (full || !word.ends_with('?'));
    for (i, word) in form.operands.iter().enumerate().filter(|(_, w)| written(w)) {
        let bare = word.trim_end_matches('?');
        text.push_str(if first {
            " "
        } else if bare.starts_with('|') {
            "|"
        } else {
            ", "
        });
        text.push_str(&operand(form, words, bare.trim_start_matches('|'), i));
        first = false;
    }
    text
}

fn module(instruction: &str) -> String {
    format!(
        ".version 8.8\n.target sm_120\n.address_size 64\n.shared .align 16 .b8 shared_variable[64];\n\
         .global .align 16 .b8 global_variable[64];\n.const .align 16 .b8 const_variable[64];\n\
         .func helper {{ ret; }}\n.entry k(.param .align 16 .b8 argument[16])\n{{\n.local .align 16 .b8 local_variable[64];\n\
         .param .align 16 .b8 passed[16];\n.reg .pred %p<9>;\n.reg .b16 %h<32>;\n.reg .b32 %r<32>;\n\
         .reg .b64 %rd<32>;\ntable: .branchtargets end, end;\n{instruction};\nend:\nret;\n}}\n"
    )
}

#[test]
fn every_form_of_the_table_is_executed_or_refused_with_its_reason() {
    let table = table().expect("the table reads");
    let mut count = 0;
    for form in table.forms() {
        let optional = form.operands.iter().any(|w| w.ends_with('?'));
        for words in fillings(form) {
            for full in if optional { &[true, false][..] } else { &[true] } {
                let text = module(&instruction(form, &words, *full));
                let strict = Module::parse(text.as_bytes(), "form", true);
                if form.strict.is_some() {
                    let error = strict.expect_err(&text);
                    assert!(error.message.contains("refused in strict mode"), "{error}");
                    Module::parse(text.as_bytes(), "form", false).unwrap_or_else(|e| panic!("{e}"));
                } else {
                    strict.unwrap_or_else(|e| panic!("{e}"));
                }
                count += 1;
            }
        }
    }
    assert!(count > 1000, "only {count} forms");
}

/// Writes one module with every form to the file that `PTX_MACHINE_FORMS` names, for an assembler to read.
#[test]
fn forms_can_be_written_for_an_assembler() {
    let table = table().expect("the table reads");
    let all: Vec<String> = table
        .forms()
        .iter()
        .flat_map(|form| fillings(form).into_iter().map(move |words| instruction(form, &words, true)))
        .collect();
    let text = module(&all.join(";\n"));
    assert!(Module::parse(text.as_bytes(), "forms", false).is_ok());
    if let Some(file) = std::env::var_os("PTX_MACHINE_FORMS") {
        std::fs::write(file, text).expect("the file can be written");
    }
}
