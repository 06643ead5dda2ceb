//! The tile table: tile and policy of each kind of call. Data in a file, so that a measurement can take a row's place.

mod cover;
mod file;
mod range;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use sha2::{Digest, Sha256};

pub use range::Span;

use crate::{CONTRACT, PlanError, Policy, Storage, Tile};

/// The contract's table, as it is built in.
const BUILT_IN: &str = include_str!("../tiles.toml");
/// Bytes of the digest that name a table.
const NAME_BYTES: usize = 6;

/// What a row of the table rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A calculation, or trials of which no record was kept.
    Reasoned,
    /// The result of `diffcheck tune` with this SHA-256, in hex.
    Measured(String),
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileRow {
    /// Architectures, as `sm_` numbers.
    pub arch: Span,
    /// Elements of a head.
    pub head_dim: u32,
    /// Storage of K and V.
    pub storage: Storage,
    /// Query heads a KV head.
    pub group_size: Span,
    /// Keys of the call.
    pub kv_len: Span,
    /// Warps a block.
    pub warps: u32,
    /// Rows a warp step.
    pub rows: u32,
    /// The policy of a call that names none.
    pub policy: Policy,
    /// What the choice rests on.
    pub source: Source,
    /// The same in words.
    pub ground: String,
}

/// What the table is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileKey {
    /// Architecture, as an `sm_` number.
    pub arch: u32,
    /// Elements of a head.
    pub head_dim: u32,
    /// Storage of K and V.
    pub storage: Storage,
    /// Query heads a KV head.
    pub group_size: u32,
}

/// Which table a plan's tile comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableName {
    /// The one that is built in, which is the contract's.
    Contract,
    /// Another one, by the start of its SHA-256.
    Tuned([u8; NAME_BYTES]),
}

/// A table in which exactly one row fits each supported call.
#[derive(Debug, Clone)]
pub struct TileTable {
    name: TableName,
    sha256: String,
    text: String,
    rows: Vec<TileRow>,
}

impl TileTable {
    /// The table that is built in.
    ///
    /// # Panics
    /// Never: the tests read it.
    pub fn built_in() -> Arc<Self> {
        static TABLE: LazyLock<Arc<TileTable>> =
            LazyLock::new(|| Arc::new(TileTable::parse(BUILT_IN).expect("the table that is built in reads")));
        Arc::clone(&TABLE)
    }

    /// Reads the text of a table. The text of the one that is built in gives that one, name and all.
    ///
    /// # Errors
    /// When it is not TOML of the schema, a row has a word or number that is not allowed, two rows fit one call, or none
    /// does: one line that names the rows.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let rows = file::rows(text)?;
        cover::check(&rows)?;
        let digest = Sha256::digest(text);
        let mut start = [0; NAME_BYTES];
        start.copy_from_slice(&digest[..NAME_BYTES]);
        let name = if text == BUILT_IN { TableName::Contract } else { TableName::Tuned(start) };
        Ok(Self { name, sha256: hex(&digest), text: text.to_owned(), rows })
    }

    /// Reads a file; see [`TileTable::parse`].
    ///
    /// # Errors
    /// As [`TileTable::parse`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Self, PlanError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let value = format!("{}, which cannot be read ({error})", path.display());
            PlanError::new("tiles", value, "a file with a tile table")
        })?;
        Self::parse(&text)
    }

    /// How plans name it.
    pub fn name(&self) -> TableName {
        self.name
    }

    /// SHA-256 of its text, in hex.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its rows, in the order of the text.
    pub fn rows(&self) -> &[TileRow] {
        &self.rows
    }

    /// The rows for calls of one kind, which differ in their lengths.
    pub fn rows_for(&self, key: TileKey) -> impl Iterator<Item = &TileRow> {
        self.rows.iter().filter(move |row| row.is_for(key))
    }

    /// The row of a call.
    ///
    /// # Errors
    /// When no row fits, as for an architecture older than any that the table must know.
    pub fn row(&self, key: TileKey, kv_len: u32) -> Result<&TileRow, PlanError> {
        self.rows_for(key).find(|row| row.kv_len.holds(kv_len)).ok_or_else(|| {
            let TileKey { arch, head_dim, storage, group_size } = key;
            let value = format!("(sm_{arch}, head_dim {head_dim}, {storage}, group of {group_size}, kv_len {kv_len})");
            PlanError::new("tile", value, "a call that a row of the tile table fits")
        })
    }
}

impl PartialEq for TileTable {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for TileTable {}

impl TileRow {
    /// Whether the row is for calls of this kind, of some length.
    pub fn is_for(&self, key: TileKey) -> bool {
        self.arch.holds(key.arch)
            && self.head_dim == key.head_dim
            && self.storage == key.storage
            && self.group_size.holds(key.group_size)
    }

    /// The tile of this row.
    pub fn tile(&self) -> Tile {
        Tile::new(self.warps, self.rows, self.storage, self.head_dim)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contract => f.write_str(CONTRACT),
            Self::Tuned(start) => write!(f, "tuned-{}", hex(start)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes every write");
        text
    })
}
