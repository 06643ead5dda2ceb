//! The tile table: warps a block, rows a warp step and the lane map, for each kind of call.

use std::fmt;

use crate::{PlanError, Storage};

/// Lanes of a warp.
pub const LANES: u32 = 32;
/// Bytes that a lane loads at once.
const VECTOR_BYTES: u32 = 16;
/// End of a range that is open above.
const ANY: u32 = u32::MAX;

/// How a block walks its split; part of what decides the bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Warps a block.
    pub warps: u32,
    /// Rows a warp step, a power of two.
    pub rows: u32,
    /// Consecutive elements that a lane holds; the lane map follows from it.
    pub vec: u32,
}

impl Tile {
    /// The tile of `warps` warps and `rows` rows a step, with the lane map of `storage` and `head_dim`.
    pub fn new(warps: u32, rows: u32, storage: Storage, head_dim: u32) -> Self {
        Self { warps, rows, vec: (head_dim / LANES).min(VECTOR_BYTES / storage.bytes()) }
    }

    /// Its name in kernel entries, `w<warps>r<rows>`. The vector width follows from storage and head dimension, which
    /// the entry names too.
    pub fn name(&self) -> String {
        self.to_string()
    }

    /// The dimension that element `i` of lane `lane` is: `(i / vec) · 32 · vec + lane · vec + (i mod vec)`.
    pub fn dim(&self, lane: u32, i: u32) -> u32 {
        (i / self.vec) * LANES * self.vec + lane * self.vec + i % self.vec
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w{}r{}", self.warps, self.rows)
    }
}

/// One row of the tile table. All ranges hold their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileRow {
    /// Architectures, as `sm_` numbers: first and last.
    pub arch: (u32, u32),
    /// Elements of a head.
    pub head_dim: u32,
    /// Storage of K and V.
    pub storage: Storage,
    /// Query heads a KV head: first and last.
    pub group_size: (u32, u32),
    /// Keys of the call: first and last.
    pub kv_len: (u32, u32),
    /// Warps a block.
    pub warps: u32,
    /// Rows a warp step.
    pub rows: u32,
}

/// The table of contract `splitk/1`: exactly one row fits each supported call.
///
/// Four rows a step, and two steps in flight, beat eight rows at every length on an H200 (partial + reduce): half-filled
/// last steps cost less, and the rows of two steps fit the shared memory of a block on most architectures. Twelve warps
/// beat eight wherever 168 registers a thread suffice, which the largest groups do not.
pub const TILE_TABLE: &[TileRow] = &[
    row(Storage::F16, (1, 6), (1, ANY), 12, 4),
    row(Storage::F16, (7, 8), (1, ANY), 8, 4),
    row(Storage::F32, (1, 4), (1, ANY), 12, 4),
    row(Storage::F32, (5, 8), (1, ANY), 8, 4),
];

const fn row(storage: Storage, group_size: (u32, u32), kv_len: (u32, u32), warps: u32, rows: u32) -> TileRow {
    TileRow { arch: (0, ANY), head_dim: 256, storage, group_size, kv_len, warps, rows }
}

impl TileRow {
    /// Whether the row is for such a call.
    pub fn fits(&self, arch: u32, head_dim: u32, storage: Storage, group_size: u32, kv_len: u32) -> bool {
        let holds = |range: (u32, u32), value: u32| range.0 <= value && value <= range.1;
        holds(self.arch, arch)
            && self.head_dim == head_dim
            && self.storage == storage
            && holds(self.group_size, group_size)
            && holds(self.kv_len, kv_len)
    }

    /// The tile of this row.
    pub fn tile(&self) -> Tile {
        Tile::new(self.warps, self.rows, self.storage, self.head_dim)
    }
}

/// The tile of a call.
///
/// # Errors
/// When no row of the table fits.
pub fn lookup(arch: u32, head_dim: u32, storage: Storage, group_size: u32, kv_len: u32) -> Result<Tile, PlanError> {
    TILE_TABLE.iter().find(|row| row.fits(arch, head_dim, storage, group_size, kv_len)).map(TileRow::tile).ok_or_else(
        || {
            let value = format!("(sm_{arch}, head_dim {head_dim}, {storage}, group of {group_size}, kv_len {kv_len})");
            PlanError::new("tile", value, "a call that a row of the tile table fits")
        },
    )
}
