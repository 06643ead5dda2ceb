//! The scratch of a kernel object: three dense arrays in one buffer, sized for a capacity.

use crate::plan::max_splits;
use crate::{DeviceProfile, Geometry, PlanError, PolicyChoice, TileTable};

/// Bytes that each array is aligned to in the buffer: a cache line, and a multiple of the contract's 16.
const ALIGNMENT: u64 = 128;
const F32_BYTES: u64 = 4;

/// Sizes and offsets, in bytes, of `part_m`, `part_s` and `part_acc` in one scratch buffer.
///
/// The arrays of a call are dense at the start of their places, with the call's own `n_splits`
/// (`[num_q_heads, n_splits]` and `[num_q_heads, n_splits, head_dim]`), so only the sizes depend on the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScratchLayout {
    /// Most splits that a call within the capacity has.
    pub max_splits: u32,
    /// Where `part_m` starts.
    pub part_m_offset: u64,
    /// Bytes of `part_m`.
    pub part_m_bytes: u64,
    /// Where `part_s` starts.
    pub part_s_offset: u64,
    /// Bytes of `part_s`.
    pub part_s_bytes: u64,
    /// Where `part_acc` starts.
    pub part_acc_offset: u64,
    /// Bytes of `part_acc`.
    pub part_acc_bytes: u64,
    /// Bytes of the buffer.
    pub total_bytes: u64,
}

impl ScratchLayout {
    /// The scratch that every call with `kv_len <= kv_capacity`, planned by `table`, fits into.
    ///
    /// # Errors
    /// As [`max_splits`].
    pub fn new(
        geometry: &Geometry,
        kv_capacity: u32,
        policy: PolicyChoice,
        profile: &DeviceProfile,
        table: &TileTable,
    ) -> Result<Self, PlanError> {
        let most = |capacity, policy| max_splits(capacity, geometry.num_kv_heads(), policy, profile);
        let max_splits = match policy {
            PolicyChoice::Named(policy) => most(kv_capacity, policy)?,
            // Each row has a policy of its own, for lengths up to its end.
            PolicyChoice::Table => table
                .rows_for(geometry.tile_key(profile.arch))
                .filter(|row| row.kv_len.first <= kv_capacity)
                .map(|row| most(kv_capacity.min(row.kv_len.last), row.policy))
                .try_fold(0, |found, splits| splits.map(|splits| found.max(splits)))?,
        };
        // At most 2^31 heads · 2^16 splits · 2^8 dimensions · 4 bytes: far below 2^64.
        let pairs = u64::from(geometry.num_q_heads()) * u64::from(max_splits);
        let small = pairs * F32_BYTES;
        let large = small * u64::from(geometry.head_dim());
        let part_s_offset = small.next_multiple_of(ALIGNMENT);
        let part_acc_offset = (part_s_offset + small).next_multiple_of(ALIGNMENT);
        Ok(Self {
            max_splits,
            part_m_offset: 0,
            part_m_bytes: small,
            part_s_offset,
            part_s_bytes: small,
            part_acc_offset,
            part_acc_bytes: large,
            total_bytes: part_acc_offset + large,
        })
    }
}
