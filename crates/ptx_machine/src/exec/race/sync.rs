//! Release and acquire: what strong writes leave with a value for those who read it.

use std::collections::HashMap;
use std::sync::Arc;

use super::clock::{ThreadId, VectorClock};
use super::warp_clock::WarpClock;
use crate::program::Order;

/// What a release pattern passes on: all that a thread did and knew up to a time.
#[derive(Debug, Clone)]
pub(super) struct Released {
    pub from: ThreadId,
    pub time: u32,
    /// The scope includes other blocks.
    pub wide: bool,
    pub clock: Arc<VectorClock>,
}

impl Released {
    /// Adds it to the clock of a thread of block `own`.
    pub fn join_into(&self, own: u32, clock: &mut VectorClock) {
        clock.join_from(own, self.from.block, &self.clock);
        clock.raise_thread(own, self.from, self.time);
    }
}

/// The value that a strong write left.
#[derive(Debug)]
struct Value {
    size: u8,
    block: u32,
    wide: bool,
    released: Vec<Released>,
    fenced: Option<Arc<VectorClock>>,
}

/// A strong access of one lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct StrongAccess {
    pub thread: ThreadId,
    pub size: u8,
    pub order: Order,
    pub wide: bool,
    pub reads: bool,
    pub writes: bool,
}

/// The values that strong writes left, by segment and offset.
#[derive(Debug, Default)]
pub(super) struct SyncTable {
    values: HashMap<(u32, u64), Value>,
    /// Bit `i`: there may be values of `2^i` bytes.
    sizes: u32,
}

impl SyncTable {
    pub fn clear(&mut self) {
        self.values.clear();
        self.sizes = 0;
    }

    /// Another write to some of `bytes` bytes at `offset` replaces what strong ones left.
    pub fn forget(&mut self, segment: u32, offset: u64, bytes: u64) {
        for log in (0..u32::BITS).filter(|log| self.sizes >> log & 1 != 0) {
            let size = 1u64 << log;
            let first = offset / size * size;
            (first..offset + bytes).step_by(size as usize).for_each(|at| drop(self.values.remove(&(segment, at))));
        }
    }

    /// Passes on what was released to a reader, and keeps what a writer releases.
    pub fn access(&mut self, place: (u32, u64), by: StrongAccess, warp: &mut WarpClock) {
        let StrongAccess { thread: ThreadId { block, lane, .. }, size, order, wide, .. } = by;
        let found = self.values.get(&place).filter(|v| v.size == size);
        let linked = found.filter(|v| v.block == block || (v.wide && wide));
        let mut released = Vec::new();
        if by.reads
            && let Some(value) = linked
        {
            for from in &value.released {
                let is_near = from.from.block == block;
                if is_near || from.wide {
                    warp.hear(lane, from, order.acquires() && (is_near || wide));
                }
            }
            if let Some(fenced) = &value.fenced {
                warp.hear_fenced(lane, value.block, fenced);
            }
            if by.writes {
                // An atomic operation carries on what the write that it reads has released.
                released.clone_from(&value.released);
            }
        } else if let Some(value) = found {
            // So does a thread's own next write.
            released.extend(value.released.iter().filter(|r| r.from == by.thread).cloned());
        }
        if by.writes {
            let own = warp.release(lane, order, wide);
            let is_said = |old: &Released, new: &Released| {
                new.from == old.from && new.time >= old.time && (new.wide || !old.wide)
            };
            // What it has just acquired, it releases with its own.
            let is_carried = |old: &Released| {
                let is_heard = order.acquires() && (old.from.block == block || (old.wide && wide));
                is_heard && order.releases() && (wide || !old.wide)
            };
            released.retain(|old| !is_carried(old) && !own.iter().any(|new| is_said(old, new)));
            released.extend(own);
            self.forget(place.0, place.1, u64::from(size));
            self.sizes |= 1 << size.trailing_zeros();
            let fenced = warp.passed_fences(lane);
            self.values.insert(place, Value { size, block, wide, released, fenced });
        }
    }
}
