//! What the fuzz targets do with their bytes. `tests/corpus.rs` of the machine replays the corpus through the same
//! functions, built as any other test.

pub mod generate;
mod launches;

use arbitrary::Unstructured;
use ptx_machine::Module;

/// The longest line that a report may be.
const MOST_SHOWN: usize = 16 << 10;

/// Reads the bytes as a module, strictly and not.
pub fn parse(data: &[u8]) {
    let strict = module(data, true);
    let lax = module(data, false);
    assert!(strict.is_none() || lax.is_some(), "a strict module is a lax one too");
}

/// Reads the bytes as a module, and runs every entry of one that is accepted.
pub fn run(data: &[u8]) {
    let accepted = module(data, true).or_else(|| module(data, false));
    if let Some(module) = accepted {
        launches::launch_all(&module, data);
    }
}

/// Makes a module of the bytes, and runs it.
pub fn forms(data: &[u8]) {
    if let Ok(text) = generate::module(&mut Unstructured::new(data)) {
        run(text.as_bytes());
    }
}

/// The module, or none and a refusal that is one short line.
fn module(data: &[u8], strict: bool) -> Option<Module> {
    Module::parse(data, "fuzz.ptx", strict).map_err(|refusal| check_report(&refusal.to_string())).ok()
}

/// A report is one line of bounded length.
fn check_report(report: &str) {
    assert!(!report.contains('\n') && report.len() < MOST_SHOWN, "{report:?}");
}
