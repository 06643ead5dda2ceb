//! A parsed module and what it tells about its entries.

use crate::error::PtxError;

/// A PTX module, checked and ready to be launched.
#[derive(Debug)]
pub struct Module {
    name: String,
    version: (u32, u32),
    target: String,
    strict: bool,
    entries: Vec<Entry>,
}

/// Registers that an entry uses, by file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegisterCounts {
    /// Registers of up to 32 bits.
    pub b32: u32,
    /// Registers of 64 bits.
    pub b64: u32,
    /// Predicates.
    pub pred: u32,
}

/// One parameter of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Its type, e.g. `u64` or `b8[16]`.
    pub ty: String,
    /// Alignment in bytes.
    pub align: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// One kernel of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Line of its `.entry`.
    pub line: u32,
    /// Its parameters in order.
    pub params: Vec<ParamInfo>,
    /// Bytes of shared memory that the module declares with a size, as used by this entry.
    pub static_shared_bytes: u32,
    /// Whether it uses `.extern .shared` memory, whose size the launch says.
    pub uses_dynamic_shared: bool,
    /// Bytes of local memory a thread.
    pub local_bytes: u32,
    /// Registers used.
    pub registers: RegisterCounts,
    /// Instructions in the text.
    pub instructions: u32,
    /// `.reqntid`: the only block shape it may be launched with.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxntid`: most threads of a block.
    pub max_threads: Option<u32>,
}

impl Module {
    /// Name of the source, as given to [`Module::parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// PTX ISA version, e.g. `(8, 5)`.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Target architecture, e.g. `sm_90a`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether forms without an exact definition are refused.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// The kernels in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The kernel named `name`.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    /// Parses and checks a module.
    ///
    /// # Errors
    /// The first thing wrong with the text.
    pub fn parse(source: &[u8], name: &str, strict: bool) -> Result<Self, PtxError> {
        let _ = (source, strict);
        Err(PtxError { file: name.to_owned(), line: 0, text: String::new(), message: "no parser in this build".into(), nearest: None })
    }
}
