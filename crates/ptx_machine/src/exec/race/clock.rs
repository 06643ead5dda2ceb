//! Vector clocks: which accesses of which threads are known to come before what a thread does next.
//!
//! The clock of a warp ticks each time that one of its lanes passes knowledge on (at a barrier, a fence, a release), so
//! that an access is named by its thread and the warp's time. A thread that knows another up to time `t` comes after
//! all that the other did at `t` and before.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::program::{FULL, LANES};

/// How much is known of the lanes of one warp.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Every lane is known up to here.
    all: u32,
    /// Lanes of which more is known, where that is not the same for all.
    lanes: Option<Arc<[u32; LANES]>>,
}

impl Row {
    /// Those of `lanes` whose access at `time` is not known to come before.
    #[inline]
    fn unseen(&self, time: u32, lanes: u32) -> u32 {
        if time <= self.all { 0 } else { self.unseen_lanes(time, lanes) }
    }

    fn unseen_lanes(&self, time: u32, lanes: u32) -> u32 {
        match &self.lanes {
            None => lanes,
            Some(times) => times.iter().enumerate().fold(0, |m, (l, &seen)| m | u32::from(time > seen) << l) & lanes,
        }
    }

    fn times(&self) -> [u32; LANES] {
        self.lanes.as_deref().copied().unwrap_or([self.all; LANES])
    }

    fn set(&mut self, times: [u32; LANES]) {
        self.all = times.iter().copied().min().unwrap_or(0);
        self.lanes = if times.iter().all(|&t| t == self.all) { None } else { Some(Arc::new(times)) };
    }

    /// Now knows `lanes` up to `time`.
    fn raise(&mut self, lanes: u32, time: u32) {
        if lanes == FULL && self.lanes.as_deref().is_none_or(|times| times.iter().all(|&t| t <= time)) {
            *self = Self { all: self.all.max(time), lanes: None };
        } else if self.unseen(time, lanes) != 0 {
            let mut times = self.times();
            for (_, seen) in times.iter_mut().enumerate().filter(|(l, _)| lanes >> l & 1 != 0) {
                *seen = (*seen).max(time);
            }
            self.set(times);
        }
    }

    fn join(&mut self, other: &Row) {
        match (&self.lanes, &other.lanes) {
            (None, None) => self.all = self.all.max(other.all),
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => {}
            (None, Some(_)) if other.all >= self.all => *self = other.clone(),
            _ => {
                let (mut times, more) = (self.times(), other.times());
                for (seen, more) in times.iter_mut().zip(more) {
                    *seen = (*seen).max(more);
                }
                self.set(times);
            }
        }
    }

    fn covers(&self, other: &Row) -> bool {
        match (&self.lanes, &other.lanes) {
            (_, None) if self.all >= other.all => true,
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => true,
            _ => self.times().iter().zip(other.times()).all(|(seen, other)| *seen >= other),
        }
    }
}

/// A thread in the sense of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ThreadId {
    /// Number of its block.
    pub block: u32,
    /// Warp in the block.
    pub warp: u32,
    pub lane: u32,
}

/// What one thread of a block knows of all others: of its own block, and of the blocks that it has heard from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct VectorClock {
    /// By warp of the own block.
    rows: Vec<Row>,
    others: Option<Arc<BTreeMap<u32, Arc<[Row]>>>>,
}

impl VectorClock {
    /// Knows of `warps` warps up to the given times, and of no other block.
    pub fn new(times: impl Iterator<Item = u32>) -> Self {
        Self { rows: times.map(|all| Row { all, lanes: None }).collect(), others: None }
    }

    /// Becomes a copy of `other`, in the same place.
    pub fn assign(&mut self, other: &VectorClock) {
        self.rows.clone_from(&other.rows);
        self.others.clone_from(&other.others);
    }

    pub fn warps(&self) -> u32 {
        self.rows.len() as u32
    }

    /// Those of `lanes` of a warp of the own block whose access at `time` is not known to come before.
    #[inline]
    pub fn unseen(&self, warp: u32, time: u32, lanes: u32) -> u32 {
        self.rows[warp as usize].unseen(time, lanes)
    }

    /// As [`VectorClock::unseen`], for another block.
    pub fn unseen_elsewhere(&self, block: u32, warp: u32, time: u32, lanes: u32) -> u32 {
        let rows = self.others.as_ref().and_then(|others| others.get(&block));
        rows.map_or(lanes, |rows| rows[warp as usize].unseen(time, lanes))
    }

    /// Now knows `lanes` of a warp of the own block up to `time`.
    pub fn raise(&mut self, warp: u32, lanes: u32, time: u32) {
        self.rows[warp as usize].raise(lanes, time);
    }

    /// Now knows what another thread of the same block knows.
    pub fn join(&mut self, other: &VectorClock) {
        for (row, other) in self.rows.iter_mut().zip(&other.rows) {
            row.join(other);
        }
        match (&mut self.others, &other.others) {
            (_, None) => {}
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => {}
            (Some(mine), Some(theirs)) => {
                let mine = Arc::make_mut(mine);
                theirs.iter().for_each(|(&block, rows)| join_rows(mine, block, rows));
            }
        }
    }

    /// Now knows what a thread of block `from` knows; this one is of block `own`.
    pub fn join_from(&mut self, own: u32, from: u32, other: &VectorClock) {
        if own == from {
            return self.join(other);
        }
        let mine = Arc::make_mut(self.others.get_or_insert_default());
        join_rows(mine, from, &other.rows.clone().into());
        for (&block, rows) in other.others.iter().flat_map(|others| others.iter()) {
            if block == own {
                self.rows.iter_mut().zip(rows.iter()).for_each(|(row, other)| row.join(other));
            } else {
                join_rows(mine, block, rows);
            }
        }
    }

    /// Now knows the thread itself, of any block, up to `time`.
    pub fn raise_thread(&mut self, own: u32, thread: ThreadId, time: u32) {
        if thread.block == own {
            return self.raise(thread.warp, 1 << thread.lane, time);
        }
        let warps = self.rows.len();
        let mine = Arc::make_mut(self.others.get_or_insert_default());
        let rows = mine.entry(thread.block).or_insert_with(|| vec![Row::default(); warps].into());
        if rows[thread.warp as usize].unseen(time, 1 << thread.lane) != 0 {
            let mut changed = rows.to_vec();
            changed[thread.warp as usize].raise(1 << thread.lane, time);
            *rows = changed.into();
        }
    }
}

fn join_rows(mine: &mut BTreeMap<u32, Arc<[Row]>>, block: u32, rows: &Arc<[Row]>) {
    match mine.entry(block) {
        std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(rows.clone())),
        std::collections::btree_map::Entry::Occupied(mut taken) => {
            let known = taken.get_mut();
            if Arc::ptr_eq(known, rows) || known.iter().zip(rows.iter()).all(|(a, b)| a.covers(b)) {
                return;
            }
            let mut joined = known.to_vec();
            joined.iter_mut().zip(rows.iter()).for_each(|(row, other)| row.join(other));
            *known = joined.into();
        }
    }
}
