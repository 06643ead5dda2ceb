//! A tile: warps a block, rows a warp step and the lane map. Which call gets which is for the table to say.

use std::fmt;

use crate::Storage;

/// Lanes of a warp.
pub const LANES: u32 = 32;
/// Bytes that a lane loads at once.
const VECTOR_BYTES: u32 = 16;

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
