//! Which kernels a decoder's calls ask for.

use splitk_plan::tile::TILE_TABLE;
use splitk_plan::{Plan, PlanError, PlanRequest};

/// A plan of each tile that calls with `kv_len` up to the request's have: the partial kernels that a decoder loads. A
/// call's tile changes only where a row of the tile table starts.
///
/// # Errors
/// As [`Plan::new`], for the request or a shorter call.
pub fn plans_by_tile(request: &PlanRequest) -> Result<Vec<Plan>, PlanError> {
    let mut starts: Vec<u32> = TILE_TABLE.iter().map(|row| row.kv_len.0).chain([1]).collect();
    starts.sort_unstable();
    let mut found: Vec<Plan> = Vec::new();
    for kv_len in starts.into_iter().filter(|start| *start <= request.kv_len) {
        let plan = Plan::new(&PlanRequest { kv_len, ..*request })?;
        if found.iter().all(|known| known.tile != plan.tile) {
            found.push(plan);
        }
    }
    Ok(found)
}
