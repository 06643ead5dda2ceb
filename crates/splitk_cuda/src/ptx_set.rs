//! Sets of PTX files, one an architecture: the one in this library, or a folder; and which file a device runs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::manifest::{KernelRecord, Manifest};
use crate::{Error, embedded};

const MANIFEST_FILE: &str = "manifest.json";
/// Longest file that is read from a folder, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// The PTX of one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxFile {
    arch: u32,
    text: Cow<'static, str>,
    /// What a launch gives each kernel, by its name.
    kernels: BTreeMap<String, KernelRecord>,
}

/// The same kernels for several architectures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PtxSet {
    /// In the order of their architectures; never empty.
    files: Vec<PtxFile>,
}

/// A file of a set, chosen for a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'a> {
    /// The file.
    pub file: &'a PtxFile,
    /// The device's architecture, 90 for `sm_90`.
    pub device_arch: u32,
}

impl PtxSet {
    /// The set in this library; checked once a process.
    ///
    /// # Errors
    /// [`Error::PtxSet`] when the library was built from files that do not belong to their manifest.
    pub fn embedded() -> Result<&'static Self, Error> {
        static EMBEDDED: OnceLock<Result<PtxSet, Error>> = OnceLock::new();
        let checked = EMBEDDED.get_or_init(|| {
            let texts = embedded::FILES.iter().map(|(arch, text)| (*arch, Cow::Borrowed(*text)));
            Self::new(embedded::MANIFEST, texts.collect())
        });
        checked.as_ref().map_err(Clone::clone)
    }

    /// The set in a folder: `manifest.json` and the files that it names.
    ///
    /// # Errors
    /// [`Error::PtxSet`] when a file cannot be read, or as [`PtxSet::new`].
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let manifest = read(folder, MANIFEST_FILE)?;
        let mut texts = BTreeMap::new();
        for target in Manifest::parse(MANIFEST_FILE, &manifest)?.targets.keys() {
            let arch = arch_of(target)?;
            texts.insert(arch, Cow::Owned(read(folder, &file_name(arch))?));
        }
        Self::new(&manifest, texts)
    }

    /// A set from its manifest and the text of each architecture.
    ///
    /// # Errors
    /// [`Error::PtxSet`] for a manifest of another form or contract, and for texts that are not, byte for byte, those that
    /// it names.
    pub fn new(manifest: &str, mut texts: BTreeMap<u32, Cow<'static, str>>) -> Result<Self, Error> {
        let mut files = Vec::new();
        for (target, record) in Manifest::parse(MANIFEST_FILE, manifest)?.targets {
            let arch = arch_of(&target)?;
            let name = file_name(arch);
            let missing = || Error::PtxSet(format!("{MANIFEST_FILE} names {target}, but there is no {name}"));
            let text = texts.remove(&arch).ok_or_else(missing)?;
            if !record.sha256.eq_ignore_ascii_case(&sha256(&text)) {
                return Err(Error::PtxSet(format!("{name} is not the file that {MANIFEST_FILE} describes")));
            }
            files.push(PtxFile { arch, text, kernels: record.kernels });
        }
        if let Some(arch) = texts.keys().next() {
            return Err(Error::PtxSet(format!("{MANIFEST_FILE} does not name {}", file_name(*arch))));
        }
        if files.is_empty() {
            return Err(Error::PtxSet(format!("{MANIFEST_FILE} names no file")));
        }
        files.sort_by_key(|file| file.arch);
        Ok(Self { files })
    }

    /// The files, in the order of their architectures.
    pub fn files(&self) -> &[PtxFile] {
        &self.files
    }

    /// The file of exactly this architecture, such as `sm_90`.
    ///
    /// # Errors
    /// [`Error::Value`] when there is none.
    pub fn file(&self, target: &str) -> Result<&PtxFile, Error> {
        self.files.iter().find(|file| file.target() == target).ok_or_else(|| {
            let targets: Vec<String> = self.files.iter().map(PtxFile::target).collect();
            Error::value("target", format!("{target:?}"), targets.join(", "))
        })
    }

    /// The file of a device's architecture, or else the nearest older one: a driver assembles PTX for any architecture
    /// from the file's on.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the device is older than every file.
    pub fn choose(&self, device_arch: u32) -> Result<Choice<'_>, Error> {
        let runs = self.files.iter().rev().find(|file| file.arch <= device_arch);
        let oldest = self.files.first().map_or(0, |file| file.arch);
        runs.map(|file| Choice { file, device_arch }).ok_or_else(|| {
            Error::Unavailable(format!("the device is sm_{device_arch}; allowed: sm_{oldest} and later"))
        })
    }
}

impl PtxFile {
    /// The architecture, 90 for `sm_90`.
    pub fn arch(&self) -> u32 {
        self.arch
    }

    /// The architecture in words, such as `sm_90`.
    pub fn target(&self) -> String {
        format!("sm_{}", self.arch)
    }

    /// The file's name.
    pub fn name(&self) -> String {
        file_name(self.arch)
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names of the kernels in the text, in its order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.text.split(".entry ").skip(1).filter_map(|rest| rest.split(['(', ' ', '\n', '\r', '\t']).next())
    }

    /// Whether the kernel `entry` has a `griddepcontrol.wait` (`sm_90` and later): it may then be launched
    /// programmatically, to start before the kernel before it on the stream has ended.
    pub fn waits(&self, entry: &str) -> bool {
        let bodies = self.text.split(".entry ").skip(1);
        let is_own = |body: &&str| body.split(['(', ' ', '\n', '\r', '\t']).next() == Some(entry);
        bodies.filter(is_own).flat_map(str::lines).any(|line| {
            let code = line.split_once("//").map_or(line, |(code, _)| code);
            code.contains("griddepcontrol.wait")
        })
    }

    /// Dynamic shared memory of a launch of `entry` with blocks of `threads` threads, in bytes.
    ///
    /// # Errors
    /// [`Error::PtxSet`] when text or manifest do not have the kernel, or it is for other blocks.
    pub fn dynamic_shared_bytes(&self, entry: &str, threads: u32) -> Result<u32, Error> {
        let name = self.name();
        if self.entries().all(|found| found != entry) {
            let hint = "its kernels are of another tile table";
            return Err(Error::PtxSet(format!("{name} has no entry {entry}: {hint}")));
        }
        let missing = || Error::PtxSet(format!("{MANIFEST_FILE} does not name the kernel {entry} of {name}"));
        let kernel = self.kernels.get(entry).ok_or_else(missing)?;
        if kernel.threads != threads {
            let found = kernel.threads;
            return Err(Error::PtxSet(format!("{MANIFEST_FILE}: threads of {entry} is {found}; allowed: {threads}")));
        }
        Ok(kernel.dynamic_shared)
    }
}

impl Choice<'_> {
    /// What to tell the user where the file is not of the device's own architecture.
    pub fn fallback(&self) -> Option<String> {
        let (device, file) = (self.device_arch, self.file.arch);
        let told = || format!("no PTX for sm_{device}: the kernels of sm_{file} run, assembled by the driver");
        (device != file).then(told)
    }
}

fn file_name(arch: u32) -> String {
    format!("sm_{arch}.ptx")
}

fn arch_of(target: &str) -> Result<u32, Error> {
    let digits = target.strip_prefix("sm_").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| {
        Error::PtxSet(format!("{MANIFEST_FILE}: an architecture is {target:?}; allowed: sm_ and a number"))
    })
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes every write");
        hex
    })
}

fn read(folder: &Path, name: &str) -> Result<String, Error> {
    let path = folder.join(name);
    let refused = |why: String| Error::PtxSet(format!("{} cannot be read: {why}", path.display()));
    let mut text = String::new();
    let file = fs::File::open(&path).map_err(|error| refused(error.to_string()))?;
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(refused(format!("longer than {MAX_FILE_BYTES} bytes")));
    }
    Ok(text)
}
