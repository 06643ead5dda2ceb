//! Which kernels a decoder's calls ask for.

use splitk_plan::{Plan, PlanError, PlanRequest, TileTable};

/// A plan of each tile that calls with `kv_len` up to the request's have by a table: the partial kernels that a decoder
/// loads. A call's tile changes only where a row of the table starts.
///
/// # Errors
/// As [`Plan::by_table`], for the request or a shorter call.
pub fn plans_by_tile(request: &PlanRequest, table: &TileTable) -> Result<Vec<Plan>, PlanError> {
    let mut starts: Vec<u32> = table.rows().iter().map(|row| row.kv_len.first.max(1)).chain([1]).collect();
    starts.sort_unstable();
    let mut found: Vec<Plan> = Vec::new();
    for kv_len in starts.into_iter().filter(|start| *start <= request.kv_len) {
        let plan = Plan::by_table(&PlanRequest { kv_len, ..*request }, table)?;
        if found.iter().all(|known| known.tile != plan.tile) {
            found.push(plan);
        }
    }
    Ok(found)
}
