//! The corpus of the fuzz targets, through the same functions: what was once found stays fixed.

use std::path::Path;

use arbitrary::Unstructured;
use ptx_machine::Module;

use crate::fuzz;

/// Runs `target` on every file of its corpus, by name.
fn replay(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "only {} files in {}", files.len(), folder.display());
    for file in files {
        let data = std::fs::read(&file).unwrap();
        assert!(std::panic::catch_unwind(|| target(&data)).is_ok(), "{} fails", file.display());
    }
}

#[test]
fn the_corpus_of_texts_passes() {
    replay("text", |data| {
        fuzz::parse(data);
        fuzz::run(data);
    });
}

#[test]
fn the_corpus_of_forms_passes() {
    replay("forms", fuzz::forms);
}

/// What the fuzzer strings together must get past the parser, or it tests nothing behind it.
#[test]
fn most_generated_modules_are_accepted() {
    let mut state = 1u64;
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    let accepted = (0..200).filter(|_| {
        let data: Vec<u8> = (0..400).map(|_| byte()).collect();
        let text = fuzz::generate::module(&mut Unstructured::new(&data)).unwrap();
        Module::parse(text.as_bytes(), "generated.ptx", false).is_ok()
    });
    let accepted = accepted.count();
    assert!(accepted >= 100, "only {accepted} of 200");
}
