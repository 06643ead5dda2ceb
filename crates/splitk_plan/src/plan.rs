//! The plan of one call: where its context is cut, and with which tile it is walked.

use std::ops::Range;

use crate::policy::Grain;
use crate::tile::LANES;
use crate::{CONTRACT, DeviceProfile, Geometry, PlanError, Policy, PolicyChoice, Storage, TableName, Tile, TileTable};

/// Fewest keys a split is given by a policy that aims for a number of splits.
pub const MIN_CHUNK: u32 = 64;
/// Most splits of a call: the second dimension of a grid ends there.
pub const MAX_SPLITS: u32 = 65_535;
/// Threads of a reduce block, and of a naive block.
const REDUCE_THREADS: u32 = 256;
/// Dimensions that a reduce block finishes.
const REDUCE_DIMS: u32 = 32;

/// What a plan is made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanRequest {
    /// Keys of the call, at least 1.
    pub kv_len: u32,
    /// Query heads.
    pub num_q_heads: u32,
    /// KV heads; divides `num_q_heads` into groups of 1 to 8.
    pub num_kv_heads: u32,
    /// Elements of a head.
    pub head_dim: u32,
    /// Storage of K and V.
    pub storage: Storage,
    /// Split policy.
    pub policy: PolicyChoice,
    /// Device that is planned for.
    pub profile: DeviceProfile,
}

/// The plan of one call. Two results may be compared to the bit only when their plans have the same [`Plan::key`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Plan {
    geometry: Geometry,
    /// Keys of the call.
    pub kv_len: u32,
    /// The policy that was asked for, or the table's.
    pub policy: Policy,
    /// The device that was planned for.
    pub profile: DeviceProfile,
    /// Splits that the policy aimed for; for `chunk:N` the splits there are.
    pub s_target: u32,
    /// Keys a split; the last one may be shorter.
    pub chunk: u32,
    /// Splits of the call, 1 to [`MAX_SPLITS`].
    pub n_splits: u32,
    /// How a block walks its split.
    pub tile: Tile,
    /// The table that the tile comes from.
    pub table: TableName,
}

impl Plan {
    /// Plans a call by the table that is built in: section 3 of the contract.
    ///
    /// # Errors
    /// As [`Plan::by_table`].
    pub fn new(request: &PlanRequest) -> Result<Self, PlanError> {
        Self::by_table(request, &TileTable::built_in())
    }

    /// Plans a call by a table: section 3 of the contract.
    ///
    /// # Errors
    /// When the shape is not supported (see [`Geometry::new`]), `kv_len` is 0, or the call would have more than
    /// [`MAX_SPLITS`] splits.
    pub fn by_table(request: &PlanRequest, table: &TileTable) -> Result<Self, PlanError> {
        let &PlanRequest { kv_len, num_q_heads, num_kv_heads, head_dim, storage, policy, profile } = request;
        let geometry = Geometry::new(num_q_heads, num_kv_heads, head_dim, storage)?;
        if kv_len == 0 {
            return Err(PlanError::new("kv_len", kv_len, format!("1 to {}", u32::MAX)));
        }
        let row = table.row(geometry.tile_key(profile.arch), kv_len)?;
        let policy = policy.resolve(row.policy);
        let (s_target, chunk) = cut(policy, kv_len, num_kv_heads, &profile);
        let n_splits = kv_len.div_ceil(chunk);
        if n_splits > MAX_SPLITS {
            return Err(too_many_splits(n_splits, kv_len, chunk));
        }
        let (tile, table) = (row.tile(), table.name());
        Ok(Self { geometry, kv_len, policy, profile, s_target, chunk, n_splits, tile, table })
    }

    /// The shape of the call.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Query heads.
    pub fn num_q_heads(&self) -> u32 {
        self.geometry.num_q_heads()
    }

    /// KV heads.
    pub fn num_kv_heads(&self) -> u32 {
        self.geometry.num_kv_heads()
    }

    /// Query heads a KV head.
    pub fn group_size(&self) -> u32 {
        self.geometry.group_size()
    }

    /// Elements of a head.
    pub fn head_dim(&self) -> u32 {
        self.geometry.head_dim()
    }

    /// Storage of K and V.
    pub fn storage(&self) -> Storage {
        self.geometry.storage()
    }

    /// Architecture that the tile was looked up for, as an `sm_` number.
    pub fn arch(&self) -> u32 {
        self.profile.arch
    }

    /// Everything but the inputs that decides the bits: `contract|profile|policy|chunk|tile`, where the tile is written
    /// with its vector width, so that the lane map is in it. A table other than the contract's stands before the tile.
    pub fn key(&self) -> String {
        let Self { policy, chunk, tile, .. } = self;
        let table = match self.table {
            TableName::Contract => String::new(),
            tuned @ TableName::Tuned(_) => format!("{tuned}|"),
        };
        format!("{CONTRACT}|{}|{policy}|chunk={chunk}|{table}{tile}v{}", self.profile.name, tile.vec)
    }

    /// Name of the partial kernel.
    pub fn partial_entry(&self) -> String {
        let (storage, group, head_dim, tile) = (self.storage(), self.group_size(), self.head_dim(), self.tile);
        format!("splitk_partial_{storage}_g{group}_d{head_dim}_{tile}")
    }

    /// Name of the reduce kernel.
    pub fn reduce_entry(&self) -> String {
        format!("splitk_reduce_d{}", self.head_dim())
    }

    /// Name of the naive kernel.
    pub fn naive_entry(&self) -> String {
        format!("naive_decode_{}_d{}", self.storage(), self.head_dim())
    }

    /// Grid and block of the partial kernel: a block for each KV head and split.
    pub fn partial_launch(&self) -> ([u32; 3], [u32; 3]) {
        ([self.num_kv_heads(), self.n_splits, 1], [LANES * self.tile.warps, 1, 1])
    }

    /// Grid and block of the reduce kernel: a block for each query head and 32 dimensions.
    pub fn reduce_launch(&self) -> ([u32; 3], [u32; 3]) {
        ([self.num_q_heads(), self.head_dim() / REDUCE_DIMS, 1], [REDUCE_THREADS, 1, 1])
    }

    /// Grid and block of the naive kernel: a block for each query head.
    pub fn naive_launch(&self) -> ([u32; 3], [u32; 3]) {
        ([self.num_q_heads(), 1, 1], [REDUCE_THREADS, 1, 1])
    }

    /// The keys of split `split`, never empty.
    ///
    /// # Errors
    /// When there is no such split.
    pub fn split_range(&self, split: u32) -> Result<Range<u32>, PlanError> {
        if split >= self.n_splits {
            return Err(PlanError::new("split", split, format!("0 to {}", self.n_splits - 1)));
        }
        // `split < n_splits = ceil(kv_len / chunk)`, so the start lies before kv_len; only the end can pass 32 bits.
        let start = split * self.chunk;
        Ok(start..start.saturating_add(self.chunk).min(self.kv_len))
    }
}

/// Most splits that any call with `1 <= kv_len <= kv_capacity` has: what a scratch buffer must hold.
///
/// # Errors
/// When `kv_capacity` or `num_kv_heads` is 0, or a call could have more than [`MAX_SPLITS`] splits.
pub fn max_splits(
    kv_capacity: u32,
    num_kv_heads: u32,
    policy: Policy,
    profile: &DeviceProfile,
) -> Result<u32, PlanError> {
    if kv_capacity == 0 {
        return Err(PlanError::new("kv_capacity", kv_capacity, format!("1 to {}", u32::MAX)));
    }
    if num_kv_heads == 0 {
        return Err(PlanError::new("num_kv_heads", num_kv_heads, "at least 1"));
    }
    // A target does not fall as kv_len grows (a rule's promise), and no call has more splits than its target.
    let (splits, chunk) = match policy.grain(kv_capacity, num_kv_heads, profile) {
        Grain::Target(target) => (clamp_target(target).min(kv_capacity.div_ceil(MIN_CHUNK)), MIN_CHUNK),
        Grain::Chunk(chunk) => (kv_capacity.div_ceil(chunk.max(1)), chunk),
    };
    if splits > MAX_SPLITS {
        return Err(too_many_splits(splits, kv_capacity, chunk));
    }
    Ok(splits)
}

/// `(s_target, chunk)` of a call.
fn cut(policy: Policy, kv_len: u32, num_kv_heads: u32, profile: &DeviceProfile) -> (u32, u32) {
    match policy.grain(kv_len, num_kv_heads, profile) {
        Grain::Target(target) => {
            let s_target = clamp_target(target);
            (s_target, kv_len.div_ceil(s_target).max(MIN_CHUNK))
        }
        Grain::Chunk(chunk) => (kv_len.div_ceil(chunk.max(1)), chunk.max(1)),
    }
}

/// A target as a count of splits: at least 1, and no more than there can be keys.
fn clamp_target(target: u64) -> u32 {
    u32::try_from(target).unwrap_or(u32::MAX).max(1)
}

fn too_many_splits(n_splits: u32, kv_len: u32, chunk: u32) -> PlanError {
    let allowed = format!("1 to {MAX_SPLITS} (a grid's limit; kv_len {kv_len} in chunks of {chunk} passes it)");
    PlanError::new("n_splits", n_splits, allowed)
}
