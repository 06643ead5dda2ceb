//! What goes to standard output, and files that are whole or not there.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Failure;

/// Prints all at once; a reader that has left early is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::input(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

/// A value as indented JSON.
pub fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|e| Failure::input(format!("JSON: {e}")))
}

/// A file that is written beside its place and moved there when it is whole.
pub struct WholeFile {
    path: PathBuf,
    part: PathBuf,
    out: Option<BufWriter<File>>,
}

impl WholeFile {
    /// Starts a file.
    ///
    /// # Errors
    /// One line that names the file and what is wrong.
    pub fn create(path: &Path) -> Result<Self, String> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let file = File::create(&part).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self { path: path.to_owned(), part, out: Some(BufWriter::new(file)) })
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// One line that names the file and what is wrong; the place is as it was.
    pub fn finish(mut self) -> Result<(), String> {
        let flushed = self.out.take().map_or(Ok(()), |mut out| out.flush());
        flushed
            .and_then(|()| std::fs::rename(&self.part, &self.path))
            .map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // After `finish` there is nothing left to remove.
        let _ = std::fs::remove_file(&self.part);
    }
}

/// Writes a text file, whole or not at all.
///
/// # Errors
/// One line that names the file and what is wrong.
pub fn write_text(path: &Path, text: &str) -> Result<(), String> {
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(|e| format!("{}: {e}", path.display()))?;
    file.finish()
}
