//! The shape of the attention: heads, head dimension and storage.

use crate::storage::Storage;
use crate::{PlanError, TileKey, tile};

/// Most query heads that may share a KV head.
pub const MAX_GROUP_SIZE: u32 = 8;
/// Head dimensions that this version of the code has kernels for.
pub const SUPPORTED_HEAD_DIMS: &[u32] = &[256];
/// Most heads: the grids are indexed in 31 bits.
const MAX_HEADS: u32 = i32::MAX as u32;

/// A checked shape: every value of this type is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Geometry {
    num_q_heads: u32,
    num_kv_heads: u32,
    head_dim: u32,
    storage: Storage,
}

impl Geometry {
    /// Checks a shape.
    ///
    /// # Errors
    /// When a head count is 0 or past 31 bits, `num_kv_heads` does not divide `num_q_heads`, the group is larger than
    /// [`MAX_GROUP_SIZE`], or `head_dim` is not among [`SUPPORTED_HEAD_DIMS`].
    pub fn new(num_q_heads: u32, num_kv_heads: u32, head_dim: u32, storage: Storage) -> Result<Self, PlanError> {
        for (field, value) in [("num_kv_heads", num_kv_heads), ("num_q_heads", num_q_heads)] {
            if !(1..=MAX_HEADS).contains(&value) {
                return Err(PlanError::new(field, value, format!("1 to {MAX_HEADS}")));
            }
        }
        let group_size = num_q_heads / num_kv_heads;
        if !num_q_heads.is_multiple_of(num_kv_heads) || group_size > MAX_GROUP_SIZE {
            let allowed = format!("num_kv_heads ({num_kv_heads}) times a whole number from 1 to {MAX_GROUP_SIZE}");
            return Err(PlanError::new("num_q_heads", num_q_heads, allowed));
        }
        if !SUPPORTED_HEAD_DIMS.contains(&head_dim) {
            let dims: Vec<String> = SUPPORTED_HEAD_DIMS.iter().map(u32::to_string).collect();
            return Err(PlanError::new("head_dim", head_dim, dims.join(", ")));
        }
        Ok(Self { num_q_heads, num_kv_heads, head_dim, storage })
    }

    /// Query heads.
    pub fn num_q_heads(&self) -> u32 {
        self.num_q_heads
    }

    /// KV heads.
    pub fn num_kv_heads(&self) -> u32 {
        self.num_kv_heads
    }

    /// Elements of a head.
    pub fn head_dim(&self) -> u32 {
        self.head_dim
    }

    /// Storage of K and V.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// Query heads that share a KV head: `G` of the contract, 1 to [`MAX_GROUP_SIZE`].
    pub fn group_size(&self) -> u32 {
        self.num_q_heads / self.num_kv_heads
    }

    /// What the tile table is asked for, on an architecture.
    pub fn tile_key(&self, arch: u32) -> TileKey {
        TileKey { arch, head_dim: self.head_dim, storage: self.storage, group_size: self.group_size() }
    }

    /// Elements of a head that one lane holds: `E` of the contract.
    pub fn elements_per_lane(&self) -> u32 {
        self.head_dim / tile::LANES
    }
}
