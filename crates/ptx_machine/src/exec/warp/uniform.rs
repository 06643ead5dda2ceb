//! Whether the lanes of a warp keep what `.uni` promises.
//!
//! The promise is of the lanes that execute the instruction together. Lanes that an earlier branch parted, and that have
//! not met again, come to it in groups of their own.

use crate::exec::memory::lanes;
use crate::fault::{FaultKind, Trap};
use crate::program::{LANES, Promise};

/// Refuses lanes of `mask` of which only some, the `active` ones, have a guard that is true.
pub(super) fn same_guard(promise: Promise, active: u32, mask: u32) -> Result<(), Box<Trap>> {
    if promise == Promise::None || active == mask {
        return Ok(());
    }
    let others = mask & !active;
    Err(broken(active, &format!("the guard is true in lanes {active:#010x} and false in lanes {others:#010x}")))
}

/// Refuses lanes with different indices, even where these lead to the same place.
pub(super) fn same_index(indices: &[u32; LANES], active: u32) -> Result<(), Box<Trap>> {
    let first = active.trailing_zeros() as usize & (LANES - 1);
    let Some(other) = lanes(active).find(|&l| indices[l] != indices[first]) else { return Ok(()) };
    Err(broken(active, &format!("the index is {} here and {} in lane {other}", indices[first], indices[other])))
}

#[cold]
fn broken(active: u32, how: &str) -> Box<Trap> {
    Trap::lanes(FaultKind::DivergentBranch, active, format!("with .uni the lanes that come here must agree; {how}"))
}
