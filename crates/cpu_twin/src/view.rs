//! Borrowed arrays with strides, checked before anything is read.

use half::f16;
use splitk_plan::{Plan, Storage, Tile};

use crate::TwinError;
use crate::constants::MAX_ROWS;

/// Bytes that bases and strides are multiples of.
const ALIGNMENT: usize = 16;
/// Most warps a block.
const MAX_WARPS: u32 = 32;

/// `q`, of shape `[num_q_heads, head_dim]` and inner stride 1.
#[derive(Debug, Clone, Copy)]
pub struct QueryView<'a> {
    /// From the first element on.
    pub elements: &'a [f32],
    /// Elements from one head to the next; a multiple of 16 bytes, 0 included.
    pub stride_head: usize,
}

/// Elements of K or V, from the first one on.
#[derive(Debug, Clone, Copy)]
pub enum KvElements<'a> {
    /// Storage `f32`.
    F32(&'a [f32]),
    /// Storage `f16`.
    F16(&'a [f16]),
}

/// K or V, of shape `[rows, num_kv_heads, head_dim]` and inner stride 1.
#[derive(Debug, Clone, Copy)]
pub struct KvView<'a> {
    /// From the first element on.
    pub elements: KvElements<'a>,
    /// Rows there are, at least `kv_len`; those from `kv_len` on are never read.
    pub rows: usize,
    /// Elements from one row to the next; a multiple of 16 bytes, 0 included.
    pub stride_row: usize,
    /// Elements from one head to the next; a multiple of 16 bytes, 0 included.
    pub stride_head: usize,
}

/// What a call reads.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// Queries.
    pub q: QueryView<'a>,
    /// Keys.
    pub k: KvView<'a>,
    /// Values.
    pub v: KvView<'a>,
}

impl KvElements<'_> {
    /// The storage of these elements.
    pub fn storage(&self) -> Storage {
        match self {
            Self::F32(_) => Storage::F32,
            Self::F16(_) => Storage::F16,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::F32(elements) => elements.len(),
            Self::F16(elements) => elements.len(),
        }
    }

    fn address(&self) -> usize {
        match self {
            Self::F32(elements) => elements.as_ptr().addr(),
            Self::F16(elements) => elements.as_ptr().addr(),
        }
    }
}

/// Names of the fields of one array, for errors.
struct Names {
    base: &'static str,
    rows: &'static str,
    stride_row: &'static str,
    stride_head: &'static str,
}

const K: Names = Names { base: "k", rows: "k rows", stride_row: "k_stride_row", stride_head: "k_stride_head" };
const V: Names = Names { base: "v", rows: "v rows", stride_row: "v_stride_row", stride_head: "v_stride_head" };

/// Checks layout section 2 of the contract, and that no index of the plan leaves an array.
pub(crate) fn check(inputs: &Inputs<'_>, plan: &Plan) -> Result<(), TwinError> {
    check_plan(plan)?;
    let QueryView { elements, stride_head } = inputs.q;
    check_aligned("q address", elements.as_ptr().addr(), 1)?;
    check_aligned("q_stride_head", stride_head, size_of::<f32>())?;
    let q_heads = plan.num_q_heads() as usize;
    check_extent("q", elements.len(), &[(q_heads, stride_head)], plan.head_dim())?;
    check_kv(&inputs.k, plan, &K)?;
    check_kv(&inputs.v, plan, &V)
}

fn check_kv(view: &KvView<'_>, plan: &Plan, names: &Names) -> Result<(), TwinError> {
    let storage = view.elements.storage();
    if storage != plan.storage() {
        return Err(TwinError::new(names.base, storage, format!("{}, the storage of the plan", plan.storage())));
    }
    let bytes = storage.bytes() as usize;
    check_aligned(if names.base == "k" { "k address" } else { "v address" }, view.elements.address(), 1)?;
    check_aligned(names.stride_row, view.stride_row, bytes)?;
    check_aligned(names.stride_head, view.stride_head, bytes)?;
    if view.rows < plan.kv_len as usize {
        return Err(TwinError::new(names.rows, view.rows, format!("at least kv_len ({})", plan.kv_len)));
    }
    let heads = plan.num_kv_heads() as usize;
    let axes = [(view.rows, view.stride_row), (heads, view.stride_head)];
    check_extent(names.base, view.elements.len(), &axes, plan.head_dim())
}

fn check_aligned(field: &'static str, value: usize, unit: usize) -> Result<(), TwinError> {
    // The low bits decide, so a product that wraps is no matter.
    if value.wrapping_mul(unit).is_multiple_of(ALIGNMENT) {
        return Ok(());
    }
    let shown = if unit == 1 { format!("{value:#x}") } else { format!("{value} elements of {unit} bytes") };
    Err(TwinError::new(field, shown, format!("multiples of {ALIGNMENT} bytes")))
}

/// Checks that the last element of the view lies within `len` elements.
fn check_extent(field: &'static str, len: usize, axes: &[(usize, usize)], head_dim: u32) -> Result<(), TwinError> {
    let last = axes.iter().try_fold(0_usize, |sum, &(count, stride)| {
        (count - 1).checked_mul(stride).and_then(|offset| sum.checked_add(offset))
    });
    match last.and_then(|last| last.checked_add(head_dim as usize)) {
        Some(needed) if needed <= len => Ok(()),
        Some(needed) => {
            Err(TwinError::new(field, format!("{len} elements"), format!("at least {needed}, by shape and strides")))
        }
        None => Err(TwinError::new(field, format!("{len} elements"), "shapes and strides within the address space")),
    }
}

/// The fields of a plan are public, so a plan may have been changed since it was made.
fn check_plan(plan: &Plan) -> Result<(), TwinError> {
    if plan.kv_len == 0 || plan.chunk == 0 || plan.n_splits != plan.kv_len.div_ceil(plan.chunk) {
        let value = format!("kv_len {}, chunk {}, n_splits {}", plan.kv_len, plan.chunk, plan.n_splits);
        return Err(TwinError::new("plan", value, "n_splits = ceil(kv_len / chunk), both at least 1"));
    }
    let Tile { warps, rows, vec } = plan.tile;
    let lane_map = Tile::new(warps, rows, plan.storage(), plan.head_dim());
    let rows_fit = rows.is_power_of_two() && rows as usize <= MAX_ROWS;
    if !(1..=MAX_WARPS).contains(&warps) || !rows_fit || plan.tile != lane_map {
        let allowed = format!("1 to {MAX_WARPS} warps, 1, 2, 4 or {MAX_ROWS} rows, vectors of {}", lane_map.vec);
        return Err(TwinError::new("tile", format!("w{warps}r{rows}v{vec}"), allowed));
    }
    Ok(())
}
