//! That exactly one row fits each supported call.

use super::{TileKey, TileRow};
use crate::PlanError;
use crate::geometry::{MAX_GROUP_SIZE, SUPPORTED_HEAD_DIMS};
use crate::storage::STORAGES;

/// The oldest architecture that a table must have rows for.
const OLDEST_ARCH: u32 = 80;

/// A row with its place from 1 on.
type Numbered<'a> = (usize, &'a TileRow);

/// Refuses a table with an overlap or a gap, naming the rows.
pub fn check(rows: &[TileRow]) -> Result<(), PlanError> {
    let numbered: Vec<Numbered<'_>> = (1..).zip(rows).collect();
    for &head_dim in SUPPORTED_HEAD_DIMS {
        for &(storage, ..) in STORAGES {
            for group_size in 1..=MAX_GROUP_SIZE {
                for arch in arch_starts(rows) {
                    one_row_a_length(&numbered, TileKey { arch, head_dim, storage, group_size })?;
                }
            }
        }
    }
    Ok(())
}

/// An architecture of each range in which no row begins or ends: what holds for it holds for the range.
fn arch_starts(rows: &[TileRow]) -> Vec<u32> {
    let edges = rows.iter().flat_map(|row| [Some(row.arch.first), row.arch.last.checked_add(1)]);
    let mut starts: Vec<u32> = edges.flatten().filter(|arch| *arch > OLDEST_ARCH).chain([OLDEST_ARCH]).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Refuses a kind of call in which some length has no row, or two.
fn one_row_a_length(rows: &[Numbered<'_>], key: TileKey) -> Result<(), PlanError> {
    let mut fitting: Vec<Numbered<'_>> = rows.iter().copied().filter(|(_, row)| row.is_for(key)).collect();
    fitting.sort_by_key(|(_, row)| row.kv_len.first);
    let mut next = Some(1_u32);
    let mut before: Option<usize> = None;
    for (number, row) in fitting {
        // A length of 0 is no call, so that a range may begin there.
        let first = row.kv_len.first.max(1);
        match next {
            Some(next) if first > next => return Err(gap(key, next, before, Some(number))),
            Some(next) if first == next => {}
            _ => return Err(overlap(key, first, before.unwrap_or(number), number)),
        }
        (next, before) = (row.kv_len.last.checked_add(1), Some(number));
    }
    next.map_or(Ok(()), |next| Err(gap(key, next, before, None)))
}

fn overlap(key: TileKey, kv_len: u32, a: usize, b: usize) -> PlanError {
    refused(format!("a table whose rows {} and {} both fit {}", a.min(b), a.max(b), call(key, kv_len)))
}

fn gap(key: TileKey, kv_len: u32, before: Option<usize>, after: Option<usize>) -> PlanError {
    let place = match (before, after) {
        (Some(before), Some(after)) => format!(" (between rows {before} and {after})"),
        (Some(before), None) => format!(" (past row {before})"),
        (None, Some(after)) => format!(" (before row {after})"),
        (None, None) => String::new(),
    };
    refused(format!("a table without a row for {}{place}", call(key, kv_len)))
}

fn call(key: TileKey, kv_len: u32) -> String {
    let TileKey { arch, head_dim, storage, group_size } = key;
    format!("(sm_{arch}, head_dim {head_dim}, {storage}, group of {group_size}, kv_len {kv_len})")
}

fn refused(value: String) -> PlanError {
    PlanError::new("tiles", value, "exactly one row for each call")
}
