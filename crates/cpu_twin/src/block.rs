//! One block of the partial kernel: what it reads and where it writes.

use std::ops::Range;

use splitk_plan::Tile;

use crate::view::QueryView;

/// The rows of K or V of one KV head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    /// From the first element of the array on.
    pub elements: &'a [T],
    /// Elements to the head.
    pub offset: usize,
    /// Elements from one row to the next.
    pub stride: usize,
    /// Rows there are.
    pub count: usize,
    /// Elements of a row.
    pub head_dim: usize,
}

impl<'a, T> Rows<'a, T> {
    /// Row `key`.
    pub fn row(&self, key: usize) -> &'a [T] {
        let start = self.offset + key * self.stride;
        &self.elements[start..start + self.head_dim]
    }
}

/// What the block of one (KV head, split) reads.
#[derive(Debug, Clone)]
pub(crate) struct Block<'a, T> {
    /// All queries.
    pub queries: QueryView<'a>,
    /// KV heads there are.
    pub num_kv_heads: usize,
    /// The KV head of this block.
    pub kv_head: usize,
    /// Query heads of the group.
    pub group_size: usize,
    /// Keys of this KV head.
    pub k: Rows<'a, T>,
    /// Values of this KV head.
    pub v: Rows<'a, T>,
    /// The split's keys.
    pub keys: Range<usize>,
    /// Keys of the call.
    pub kv_len: usize,
    /// How the block walks them.
    pub tile: Tile,
}

impl<'a, T> Block<'a, T> {
    /// The query of head `head`, counted over all groups.
    pub fn query(&self, head: usize) -> &'a [f32] {
        let start = head * self.queries.stride_head;
        &self.queries.elements[start..start + self.k.head_dim]
    }

    /// First keys of the steps that warp `warp` takes part in.
    pub fn steps(&self, warp: usize, keys: &Range<usize>) -> impl Iterator<Item = usize> + use<T> {
        let rows = self.tile.rows as usize;
        (keys.start + warp * rows..keys.end).step_by(self.tile.warps as usize * rows)
    }
}

/// Where a block writes the result of one query head.
#[derive(Debug)]
pub(crate) struct HeadPartial<'a> {
    /// Maximum of the scores.
    pub m: &'a mut f32,
    /// Sum of the weights.
    pub s: &'a mut f32,
    /// Weighted sum of the values, not normalised.
    pub acc: &'a mut [f32],
}
