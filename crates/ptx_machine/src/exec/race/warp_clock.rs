//! What the lanes of one warp know, and what they pass on.

use std::sync::Arc;

use super::clock::{ThreadId, VectorClock};
use super::record::LAST;
use super::sync::Released;
use crate::program::{FULL, LANES, Order};

/// The lanes of a mask, rising.
fn lanes(mask: u32) -> impl Iterator<Item = u32> {
    (0..LANES as u32).filter(move |l| mask >> l & 1 != 0)
}

/// What meets at a barrier.
#[derive(Debug, Clone)]
pub(super) struct Meeting {
    seen: VectorClock,
    fenced: Option<VectorClock>,
}

/// What a lane knew at a fence, for its strong writes after it to pass on.
#[derive(Debug)]
struct Fence {
    lanes: u32,
    time: u32,
    wide: bool,
    seen: Arc<VectorClock>,
}

/// What a lane has read and will know at its next fence.
#[derive(Debug)]
struct Heard {
    lane: u32,
    /// From its own block, so that a fence of any scope will do.
    is_near: bool,
    clock: VectorClock,
}

#[derive(Debug)]
pub(super) struct WarpClock {
    block: u32,
    warp: u32,
    /// Lanes that exist, and those of them that have not exited.
    all: u32,
    live: u32,
    now: u32,
    /// One clock where all lanes know the same, or one a lane.
    seen: Vec<VectorClock>,
    /// What `fence.sc` of all threads that a lane has heard from, however weakly, came after; its own next `fence.sc`
    /// comes after those. Empty: no lane heard of any.
    fenced: Vec<Option<Arc<VectorClock>>>,
    fences: Vec<Fence>,
    heard: Vec<Heard>,
}

/// Joins two clocks, of which there may be none.
fn join(into: &mut Option<VectorClock>, other: Option<&VectorClock>) {
    match (into, other) {
        (_, None) => {}
        (Some(into), Some(other)) => into.join(other),
        (into @ None, Some(other)) => *into = Some(other.clone()),
    }
}

impl WarpClock {
    pub fn new(warp: u32) -> Self {
        let (seen, fenced, fences, heard) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { block: 0, warp, all: 0, live: 0, now: 1, seen, fenced, fences, heard }
    }

    /// Starts over as a warp of `block` that knows what `clock` does.
    pub fn start(&mut self, block: u32, lanes: u32, clock: VectorClock) {
        (self.block, self.all, self.live) = (block, lanes, lanes);
        self.seen.clear();
        self.seen.push(clock);
        self.fenced.clear();
        self.fences.clear();
        self.heard.clear();
    }

    pub fn now(&self) -> u32 {
        self.now
    }

    /// What is done from here on is not known to those who know what was done until now.
    pub fn tick(&mut self) {
        self.now = LAST.min(self.now + 1);
    }

    pub fn set_now(&mut self, now: u32) {
        self.now = now;
    }

    pub fn exit(&mut self, lanes: u32) {
        self.live &= !lanes;
    }

    /// All lanes know the same.
    #[inline]
    pub fn is_together(&self) -> bool {
        self.seen.len() == 1
    }

    #[inline]
    pub fn seen(&self, lane: u32) -> &VectorClock {
        &self.seen[if self.is_together() { 0 } else { lane as usize }]
    }

    fn fenced(&self, lane: u32) -> Option<&Arc<VectorClock>> {
        self.fenced.get(lane as usize)?.as_ref()
    }

    fn set_fenced(&mut self, lane: u32, clock: Option<Arc<VectorClock>>) {
        if self.fenced.is_empty() {
            self.fenced = vec![None; LANES];
        }
        self.fenced[lane as usize] = clock;
    }

    fn set_seen(&mut self, lane: u32, clock: VectorClock) {
        if self.is_together() {
            self.seen = vec![self.seen[0].clone(); LANES];
        }
        self.seen[lane as usize] = clock;
    }

    /// The lanes as their row in a clock says them: lanes that never were count as any.
    fn row_lanes(&self, lanes: u32) -> u32 {
        if lanes == self.all { FULL } else { lanes }
    }

    /// All that some of the lanes know, and that they were here.
    fn gather(&self, members: u32) -> Meeting {
        let first = members.trailing_zeros() % LANES as u32;
        let mut seen = self.seen(first).clone();
        if !self.is_together() {
            lanes(members).for_each(|l| seen.join(self.seen(l)));
        }
        seen.raise(self.warp, self.row_lanes(members), self.now);
        let mut fenced = None;
        lanes(members).for_each(|l| join(&mut fenced, self.fenced(l).map(Arc::as_ref)));
        Meeting { seen, fenced }
    }

    /// The warp arrives at a barrier: those who leave it will know all that its lanes know.
    pub fn arrive(&mut self, at: &mut Option<Meeting>) {
        match at {
            Some(meeting) if self.is_together() && self.fenced.is_empty() => {
                meeting.seen.join(&self.seen[0]);
                meeting.seen.raise(self.warp, self.row_lanes(self.live), self.now);
            }
            Some(meeting) => {
                let own = self.gather(self.live);
                meeting.seen.join(&own.seen);
                join(&mut meeting.fenced, own.fenced.as_ref());
            }
            None => *at = Some(self.gather(self.live)),
        }
        self.tick();
    }

    /// The warp leaves a barrier at which it waited.
    pub fn leave(&mut self, meeting: &Meeting) {
        self.seen.truncate(1);
        self.seen[0].assign(&meeting.seen);
        self.fenced.clear();
        if let Some(fenced) = &meeting.fenced {
            self.fenced = vec![Some(Arc::new(fenced.clone())); LANES];
        }
    }

    /// `bar.warp.sync` of `members`.
    pub fn sync(&mut self, members: u32) {
        if members == self.live && self.is_together() && self.fenced.is_empty() {
            let row = self.row_lanes(members);
            self.seen[0].raise(self.warp, row, self.now);
            return self.tick();
        }
        let meeting = self.gather(members);
        if members == self.live {
            self.leave(&meeting);
        } else {
            lanes(members).for_each(|l| self.set_seen(l, meeting.seen.clone()));
            if let Some(fenced) = meeting.fenced.map(Arc::new) {
                lanes(members).for_each(|l| self.set_fenced(l, Some(fenced.clone())));
            }
        }
        self.tick();
    }

    /// A fence: what was read before it is known after it, and strong writes after it pass on what is known at it.
    pub fn fence(&mut self, members: u32, order: Order, wide: bool) {
        let is_due = |h: &Heard| members >> h.lane & 1 != 0 && (h.is_near || wide);
        for heard in self.heard.extract_if(.., |h| is_due(h)).collect::<Vec<_>>() {
            let mut clock = self.seen(heard.lane).clone();
            clock.join(&heard.clock);
            self.set_seen(heard.lane, clock);
        }
        if order == Order::Sc && wide {
            lanes(members).for_each(|l| self.fence_in_order(l));
        }
        for old in &mut self.fences {
            old.lanes &= if wide || !old.wide { !members } else { FULL };
        }
        self.fences.retain(|old| old.lanes != 0);
        let groups = if self.is_together() { vec![members] } else { lanes(members).map(|l| 1 << l).collect() };
        for group in groups {
            let seen = Arc::new(self.seen(group.trailing_zeros()).clone());
            self.fences.push(Fence { lanes: group, time: self.now, wide, seen });
        }
        self.tick();
    }

    /// A lane's `fence.sc`: it comes after those that it has heard of.
    fn fence_in_order(&mut self, lane: u32) {
        let mut clock = self.seen(lane).clone();
        if let Some(fenced) = self.fenced(lane) {
            clock.join(fenced);
            if clock != *self.seen(lane) {
                self.set_seen(lane, clock.clone());
            }
        }
        clock.raise(self.warp, 1 << lane, self.now);
        self.set_fenced(lane, Some(Arc::new(clock)));
    }

    /// A lane reads a value with which `released` was passed on; it knows that now, or at its next fence.
    pub fn hear(&mut self, lane: u32, released: &Released, now: bool) {
        let mut clock = self.seen(lane).clone();
        released.join_into(self.block, &mut clock);
        if clock == *self.seen(lane) {
            return;
        }
        if now {
            return self.set_seen(lane, clock);
        }
        let is_near = released.from.block == self.block;
        match self.heard.iter_mut().find(|h| h.lane == lane && h.is_near == is_near) {
            Some(heard) => heard.clock.join(&clock),
            None => self.heard.push(Heard { lane, is_near, clock }),
        }
    }

    /// A lane reads a value written by a thread of block `from` that knew of these `fence.sc`.
    pub fn hear_fenced(&mut self, lane: u32, from: u32, fenced: &Arc<VectorClock>) {
        let clock = match self.fenced(lane) {
            Some(own) if from == self.block && Arc::ptr_eq(own, fenced) => return,
            Some(own) => {
                let mut own = own.as_ref().clone();
                own.join_from(self.block, from, fenced);
                Arc::new(own)
            }
            None if from == self.block => fenced.clone(),
            None => {
                let mut own = VectorClock::new((0..self.seen[0].warps()).map(|_| 0));
                own.join_from(self.block, from, fenced);
                Arc::new(own)
            }
        };
        self.set_fenced(lane, Some(clock));
    }

    /// What a lane's strong write passes on; `wide`: with a scope that includes other blocks.
    pub fn release(&self, lane: u32, order: Order, wide: bool) -> Vec<Released> {
        let from = ThreadId { block: self.block, warp: self.warp, lane };
        let fences = self.fences.iter().filter(|f| f.lanes >> lane & 1 != 0);
        let earlier = fences.map(|f| Released { from, time: f.time, wide: f.wide, clock: f.seen.clone() });
        if !order.releases() {
            return earlier.collect();
        }
        let own = Released { from, time: self.now, wide, clock: Arc::new(self.seen(lane).clone()) };
        // Only a fence of a wider scope says anything more.
        std::iter::once(own).chain(earlier.filter(|r| r.wide && !wide)).collect()
    }

    pub fn passed_fences(&self, lane: u32) -> Option<Arc<VectorClock>> {
        self.fenced(lane).cloned()
    }
}
