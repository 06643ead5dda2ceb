//! The PTX text that a command is given.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use ptx_machine::{MAX_SOURCE_BYTES, Module};

use crate::Failure;

/// What to read, and how strictly.
#[derive(Args)]
pub struct Source {
    /// The PTX text; `-` is standard input
    file: PathBuf,
    /// Accept forms without an exact definition (approximations, f32 arithmetic that an assembler may fuse)
    #[arg(long)]
    lax: bool,
}

impl Source {
    /// Reads, parses and checks the module.
    pub fn module(&self) -> Result<Module, Failure> {
        let is_stdin = self.file.as_os_str() == "-";
        let name = if is_stdin { "<stdin>".to_owned() } else { self.file.display().to_string() };
        let refuse = |why: String| Failure::input(format!("{name}: {why}"));
        let text = if is_stdin { limited(std::io::stdin()) } else { self.open() }.map_err(|e| refuse(e.to_string()))?;
        if text.len() > MAX_SOURCE_BYTES {
            return Err(refuse(format!("the source is too large; allowed: up to {MAX_SOURCE_BYTES} bytes")));
        }
        Module::parse(&text, &name, !self.lax).map_err(Failure::input)
    }

    fn open(&self) -> std::io::Result<Vec<u8>> {
        limited(std::fs::File::open(&self.file)?)
    }
}

/// All of a text, or one byte more than is allowed.
fn limited(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    from.take(MAX_SOURCE_BYTES as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}
