//! The manifest of a set of PTX files: what of it launching needs. (Its other fields, which tie the files to their
//! sources, are for `diffcheck oxide verify`.)

use std::collections::BTreeMap;

use serde::Deserialize;
use splitk_plan::CONTRACT;

use crate::Error;

/// The form of manifest that this library reads.
pub const SCHEMA: &str = "splitk-oxide-manifest/1";

/// What this library reads of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Manifest {
    /// The version of the contract that the kernels keep.
    contract: String,
    /// The files, by architecture (`sm_90`).
    pub targets: BTreeMap<String, FileRecord>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FileRecord {
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
    /// Its kernels, by name.
    pub kernels: BTreeMap<String, KernelRecord>,
}

/// What a launch gives a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct KernelRecord {
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory a block.
    pub dynamic_shared: u32,
}

#[derive(Deserialize)]
struct Versioned {
    schema: String,
}

impl Manifest {
    /// Reads a manifest. `name` is what errors call it.
    ///
    /// # Errors
    /// [`Error::PtxSet`] for a text that is no manifest, and a manifest of another form or contract.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        // The form first: the fields of another one are not known.
        let Versioned { schema } = read(name, text)?;
        if schema != SCHEMA {
            return Err(Error::PtxSet(format!("{name}: schema is {schema:?}; allowed: {SCHEMA:?}")));
        }
        let manifest: Self = read(name, text)?;
        if manifest.contract != CONTRACT {
            let contract = &manifest.contract;
            return Err(Error::PtxSet(format!("{name}: contract is {contract:?}; allowed: {CONTRACT:?}")));
        }
        Ok(manifest)
    }
}

fn read<'a, T: Deserialize<'a>>(name: &str, text: &'a str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::PtxSet(format!("{name} is no manifest: {error}")))
}
