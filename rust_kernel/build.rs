//! Digests of the Rust sources that the module is built from, which receipts name.
//!
//! A digest is the SHA-256 over the files in the order of their paths, each as `path NUL length NUL content`, with the
//! path relative to the workspace and `/` between its parts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};

/// Environment variable of the build, and the files and folders that go into it.
const DIGESTS: &[(&str, &[&str])] = &[
    (
        "TWIN_SOURCE_SHA256",
        &[
            "crates/cpu_twin/Cargo.toml",
            "crates/cpu_twin/src",
            "crates/splitk_plan/Cargo.toml",
            "crates/splitk_plan/src",
        ],
    ),
    (
        "MACHINE_SOURCE_SHA256",
        &["crates/ptx_machine/Cargo.toml", "crates/ptx_machine/src", "py_builder_kernel/opcodes.toml"],
    ),
];

/// What `make wheel` says of the sources: the commit and the files that differ from it, with a tab between. Unset in every
/// other build, where the repository itself can be asked.
const STAMP: &str = "DIFFCHECK_STAMP";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-env-changed={STAMP}");
    println!("cargo:rustc-env={STAMP}={}", std::env::var(STAMP).unwrap_or_default());
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    for (variable, parts) in DIGESTS {
        let mut files = Vec::new();
        for part in *parts {
            println!("cargo:rerun-if-changed={}", workspace.join(part).display());
            collect(&workspace.join(part), &mut files)?;
        }
        println!("cargo:rustc-env={variable}={}", digest(workspace, &files)?);
    }
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}

/// The file `path`, or all files below the folder `path`.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        collect(&entry?.path(), files)?;
    }
    Ok(())
}

fn digest(workspace: &Path, files: &[PathBuf]) -> io::Result<String> {
    let mut named: Vec<(String, &PathBuf)> = files.iter().map(|file| (relative(workspace, file), file)).collect();
    named.sort();
    let mut hasher = Sha256::new();
    for (name, file) in named {
        let content = fs::read(file)?;
        hasher.update(format!("{name}\0{}\0", content.len()));
        hasher.update(content);
    }
    Ok(hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes every write");
        hex
    }))
}

fn relative(workspace: &Path, file: &Path) -> String {
    let path = file.strip_prefix(workspace).expect("every file lies in the workspace");
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
