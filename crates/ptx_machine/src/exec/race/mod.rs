//! Races: conflicting accesses that nothing orders, found by vector clocks.
//!
//! A race is two accesses to the same bytes, at least one of them a write, by different threads (lanes of one warp
//! included), that the PTX memory model does not order and that are not both strong at scopes that include each other.
//! Every word remembers its last write and its reads since, as in `FastTrack` (Flanagan and Freund, "`FastTrack`:
//! Efficient and Precise Dynamic Race Detection", 2009), with one record for the lanes of a warp that do the same. What orders
//! what, and what is not modelled, is in `docs/memory-model.md`.

mod clock;
mod early;
mod global;
mod record;
mod report;
mod sync;
mod warp_clock;
mod words;

use std::sync::MutexGuard;

pub(crate) use global::GlobalShadow;

use self::clock::{ThreadId, VectorClock};
use self::global::Wrong;
use self::record::{Actor, How, LAST, PENDING, Record};
pub(super) use self::report::Same;
use self::report::Site;
use self::sync::{StrongAccess, SyncTable};
use self::warp_clock::{Meeting, WarpClock};
use self::words::Words;
use super::Geometry;
use super::block::BARRIERS;
use super::memory::{Group, lanes};
use super::spaces::Spaces;
use crate::fault::Trap;
use crate::program::{Access, LANES, Order, Program, Scope};
use crate::types::{Scalar, Space};

type Checked<T> = Result<T, Box<Trap>>;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Load,
    Store,
    /// Reads and writes at once; always strong.
    Atomic,
}

/// What some lanes of a warp do to memory in one instruction.
#[derive(Clone, Copy)]
pub(super) struct Step<'s> {
    pub warp: usize,
    pub at: u32,
    pub group: &'s Group<'s>,
    pub access: &'s Access,
    pub effect: Effect,
    /// For a store: whether two lanes store the same value.
    pub same: Option<Same<'s>>,
}

/// Must be kept until the data of a strong access has moved: no other block's strong access comes between.
#[must_use]
#[derive(Debug)]
pub(super) struct Held<'a>(#[allow(dead_code)] Option<MutexGuard<'a, SyncTable>>);

impl Held<'_> {
    pub fn nothing() -> Self {
        Self(None)
    }
}

/// Watches the accesses of one block after the other, on one host thread.
#[derive(Debug)]
pub(super) struct Detector<'a> {
    program: &'a Program,
    geometry: &'a Geometry,
    global: &'a GlobalShadow<'a>,
    /// Number of the block being run.
    block: u32,
    warps: Vec<WarpClock>,
    barriers: [Option<Meeting>; BARRIERS],
    /// By shared segment.
    shared: Vec<Words>,
    shared_sync: SyncTable,
    /// Words that asynchronous copies are on their way to.
    pending: u32,
    /// Lanes of each warp that have waited for the launches before this one.
    waited: Vec<u32>,
}

/// The words that one lane's access at `offset` touches: the first, how many, and which bytes of each.
#[inline]
fn words_of(offset: u64, total: u32) -> (usize, usize, u8) {
    let first = (offset / 4) as usize;
    if total >= 4 { (first, (total / 4) as usize, 0xf) } else { (first, 1, ((1 << total) - 1) << (offset & 3)) }
}

/// Calls `f` with each word that is accessed and its bytes, for lanes that know the same and access the same word.
#[inline]
fn each_word<E>(
    group: &Group<'_>,
    total: u32,
    joint: bool,
    mut f: impl FnMut(u32, usize, u8) -> Result<(), E>,
) -> Result<(), (usize, E)> {
    let mut left = group.mask;
    while left != 0 {
        let lane = left.trailing_zeros() as usize & (LANES - 1);
        let offset = group.offsets[lane];
        let members = if joint { same_offset(&group.offsets, offset) & left } else { 1 << lane };
        let (first, count, bytes) = words_of(offset, total);
        for word in first..first + count {
            f(members, word, bytes).map_err(|e| (word, e))?;
        }
        left &= !members;
    }
    Ok(())
}

fn same_offset(offsets: &[u64; LANES], offset: u64) -> u32 {
    offsets.iter().enumerate().fold(0, |m, (l, &o)| m | u32::from(o == offset) << l)
}

/// Whether some lanes access the same place: the offsets do not rise from lane to lane.
fn has_company(group: &Group<'_>) -> bool {
    let falls = (1..LANES).fold(0, |m, l| m | u32::from(group.offsets[l] <= group.offsets[l - 1]) << l);
    falls & group.mask != 0
}

impl<'a> Detector<'a> {
    pub fn new(
        program: &'a Program,
        geometry: &'a Geometry,
        global: &'a GlobalShadow<'a>,
        spaces: &Spaces<'_>,
    ) -> Self {
        Self {
            program,
            geometry,
            global,
            block: 0,
            warps: (0..geometry.warps()).map(WarpClock::new).collect(),
            barriers: Default::default(),
            shared: spaces.shared.iter().map(|s| Words::new(s.len.div_ceil(4) as usize, usize::MAX)).collect(),
            shared_sync: SyncTable::default(),
            pending: 0,
            waited: vec![0; geometry.warps() as usize],
        }
    }

    /// Turns to the block with this number: it knows all that the one before it did in the memory that it takes over.
    pub fn start_block(&mut self, block: u32) {
        self.block = block;
        self.barriers = Default::default();
        self.waited.fill(0);
        self.shared_sync.clear();
        if self.pending > 0 || self.warps.iter().any(|w| w.now() > LAST / 2) {
            self.shared.iter_mut().for_each(Words::clear);
            self.warps.iter_mut().for_each(|w| w.set_now(1));
            self.pending = 0;
        }
        self.shared.iter_mut().for_each(Words::clear_crowds);
        let clock = VectorClock::new(self.warps.iter().map(WarpClock::now));
        for (w, warp) in self.warps.iter_mut().enumerate() {
            warp.tick();
            warp.start(block, self.geometry.lanes(w), clock.clone());
        }
    }

    fn first_unit(&self) -> u32 {
        self.block * self.geometry.warps()
    }

    /// Lanes of a warp access memory; the result must be kept until the data has moved.
    #[inline]
    pub fn access(&mut self, step: Step<'_>) -> Checked<Held<'a>> {
        match step.group.space {
            Space::Shared => self.access_shared(step).map(|()| Held(None)),
            Space::Global => {
                if let Some(history) = self.global.history() {
                    self.check_early(history, &step)?;
                }
                if self.global.watches(step.group.segment.number) { self.access_global(step) } else { Ok(Held(None)) }
            }
            _ => Ok(Held(None)),
        }
    }

    fn how(a: &Access, effect: Effect, wide: bool) -> How {
        let how = How::weak(a.ty.bytes() as u8, effect != Effect::Load);
        if a.order.is_strong() { how.strong(wide) } else { how }
    }

    #[inline]
    fn access_shared(&mut self, step: Step<'_>) -> Checked<()> {
        let Step { warp: w, at, group, access: a, effect, .. } = step;
        let warp = &self.warps[w];
        // All who access shared memory are in any scope.
        let how = Self::how(a, effect, true);
        let record = Record { unit: w as u32, lanes: 0, time: warp.now(), at, how };
        let joint = !how.writes && warp.is_together() && has_company(group);
        let words = &mut self.shared[group.segment.number as usize];
        let total = a.ty.bytes() * u32::from(a.count);
        let mut strong = Vec::new();
        each_word(group, total, joint, |lanes, word, bytes| {
            let by = Actor { clock: warp.seen(lanes.trailing_zeros()), first_unit: 0, unit: w as u32 };
            let new = Record { lanes, how: how.of(bytes), ..record };
            if !how.writes {
                return words.read(word, &by, &new);
            }
            if how.is_weak() && words.has_strong(word) {
                strong.push(word);
            }
            words.write(word, &by, &new)
        })
        .map_err(|(word, clash)| self.site(&step, word).race(&clash))?;
        for word in strong {
            self.shared_sync.forget(group.segment.number, 4 * word as u64, 4);
        }
        if a.order.is_strong() {
            let Self { shared_sync, warps, block, .. } = self;
            pass_on(shared_sync, &mut warps[w], *block, &step);
        }
        Ok(())
    }

    fn access_global(&mut self, step: Step<'_>) -> Checked<Held<'a>> {
        let Step { warp: w, at, group, access: a, effect, .. } = step;
        let global = self.global;
        let mut sync = a.order.is_strong().then(|| global.sync());
        let warp = &self.warps[w];
        let how = Self::how(a, effect, a.scope >= Scope::Gpu);
        let (first_unit, segment) = (self.first_unit(), group.segment.number);
        let unit = first_unit + w as u32;
        let record = Record { unit, lanes: 0, time: warp.now(), at, how };
        let joint = !how.writes && warp.is_together() && has_company(group);
        let total = a.ty.bytes() * u32::from(a.count);
        let mut held = None;
        let mut strong = Vec::new();
        let result = each_word(group, total, joint, |lanes, word, bytes| {
            let number = GlobalShadow::page_of(word);
            if held.as_ref().is_none_or(|(n, _)| *n != number) {
                // One page at a time, so that two blocks cannot wait for each other.
                held = None;
                held = global.page(segment, word).map(|page| (number, page));
            }
            let Some((_, page)) = &mut held else { return Ok(()) };
            let by = Actor { clock: warp.seen(lanes.trailing_zeros()), first_unit, unit };
            let new = Record { lanes, how: how.of(bytes), ..record };
            match (how.writes, a.non_coherent) {
                (false, false) => page.read(word, &by, &new),
                (false, true) => page.read_non_coherent(word, &new),
                (true, _) => {
                    if how.is_weak() && page.has_strong(word) {
                        strong.push(word);
                    }
                    page.write(word, &by, &new)
                }
            }
        });
        drop(held);
        result.map_err(|(word, wrong)| self.wrong(&step, word, &wrong))?;
        if !strong.is_empty() {
            let mut table = global.sync();
            for word in strong {
                table.forget(segment, 4 * word as u64, 4);
            }
        }
        if let Some(table) = sync.as_deref_mut() {
            pass_on(table, &mut self.warps[w], self.block, &step);
        }
        Ok(Held(sync))
    }

    #[cold]
    fn wrong(&self, step: &Step<'_>, word: usize, wrong: &Wrong) -> Box<Trap> {
        let site = self.site(step, word);
        let (Wrong::Race(clash) | Wrong::NonCoherent(clash)) = wrong;
        if step.group.space == Space::Global && clash.other.unit / self.geometry.warps() != self.block {
            self.global.note_crossing();
        }
        match wrong {
            Wrong::Race(clash) => site.race(clash),
            Wrong::NonCoherent(clash) => site.non_coherent(clash),
        }
    }

    fn site<'s>(&'s self, step: &Step<'s>, word: usize) -> Site<'s> {
        Site {
            program: self.program,
            geometry: self.geometry,
            block: self.block,
            warp: step.warp as u32,
            at: step.at,
            space: step.group.space,
            segment: step.group.segment,
            word,
            same: step.same,
        }
    }

    /// `membar` and `fence`.
    pub fn fence(&mut self, warp: usize, lanes: u32, order: Order, scope: Scope) {
        self.warps[warp].fence(lanes, order, scope >= Scope::Gpu);
    }

    /// `bar.warp.sync`: lanes with the same mask of members meet; the masks have been checked.
    pub fn warp_sync(&mut self, warp: usize, masks: &[u32; LANES], active: u32) {
        let mut left = active;
        while left != 0 {
            let members = masks[left.trailing_zeros() as usize & (LANES - 1)];
            self.warps[warp].sync(members);
            left &= !members;
        }
    }

    pub fn exit(&mut self, warp: usize, lanes: u32) {
        self.warps[warp].exit(lanes);
    }

    /// A warp arrives at a block barrier.
    pub fn arrive(&mut self, warp: usize, barrier: usize) {
        self.warps[warp].arrive(&mut self.barriers[barrier]);
    }

    /// A block barrier opens, and these warps have waited there.
    pub fn open(&mut self, barrier: usize, waiting: impl Iterator<Item = usize>) {
        if let Some(meeting) = self.barriers[barrier].take() {
            waiting.for_each(|w| self.warps[w].leave(&meeting));
        }
    }

    /// Lanes start asynchronous copies of `bytes` bytes each: until they land, no one may write a source or touch a
    /// destination. Whether this memory is looked after.
    pub fn start_copy(&mut self, w: usize, at: u32, group: &Group<'_>, bytes: &[u8; LANES]) -> Checked<bool> {
        let is_shared = group.space == Space::Shared;
        let is_watched = is_shared || self.global.watches(group.segment.number);
        let history = self.global.history().filter(|_| !is_shared);
        if !is_watched && history.is_none() {
            return Ok(false);
        }
        let warp = &self.warps[w];
        let first_unit = if is_shared { 0 } else { self.first_unit() };
        let unit = first_unit + w as u32;
        let record = Record { unit, lanes: 0, time: PENDING, at, how: How::weak(4, is_shared) };
        // What a report calls an asynchronous copy.
        let copy = Access::plain(Space::Shared, Scalar::B32);
        let step = Step { warp: w, at, group, access: &copy, effect: Effect::Store, same: None };
        if let Some(history) = history {
            self.check_early_copy(history, &step, bytes)?;
        }
        if !is_watched {
            return Ok(false);
        }
        for lane in lanes(group.mask) {
            let by = Actor { clock: warp.seen(lane as u32), first_unit, unit };
            for (word, bytes) in copied_words(group.offsets[lane], bytes[lane]) {
                let new = Record { lanes: 1 << lane, how: record.how.of(bytes), ..record };
                let result = if is_shared {
                    self.pending += 1;
                    self.shared[group.segment.number as usize].write(word, &by, &new).map_err(Wrong::from)
                } else {
                    let page = self.global.page(group.segment.number, word);
                    page.map_or(Ok(()), |mut page| page.read(word, &by, &new))
                };
                result.map_err(|wrong| self.wrong(&step, word, &wrong))?;
            }
        }
        Ok(true)
    }

    /// Lanes have waited for copies: it is as if they had made them now.
    pub fn land_copy(&mut self, w: usize, group: &Group<'_>, bytes: &[u8; LANES]) {
        let time = self.warps[w].now();
        let is_shared = group.space == Space::Shared;
        let unit = if is_shared { w as u32 } else { self.first_unit() + w as u32 };
        for lane in lanes(group.mask) {
            for (word, _) in copied_words(group.offsets[lane], bytes[lane]) {
                if is_shared {
                    self.pending -= 1;
                    self.shared[group.segment.number as usize].land(word, unit, lane as u32, time);
                } else if let Some(mut page) = self.global.page(group.segment.number, word) {
                    page.land(word, unit, lane as u32, time);
                }
            }
        }
    }
}

/// The words that a copy of `bytes` bytes reads or writes, with the bytes of each.
fn copied_words(offset: u64, bytes: u8) -> impl Iterator<Item = (usize, u8)> {
    let first = (offset / 4) as usize;
    (0..bytes.div_ceil(4)).map(move |i| (first + usize::from(i), (1u8 << (bytes - 4 * i).min(4)) - 1))
}

/// Strong accesses hear what was released, and release.
fn pass_on(table: &mut SyncTable, warp: &mut WarpClock, block: u32, step: &Step<'_>) {
    let Step { warp: w, group, access: a, effect, .. } = *step;
    let size = a.ty.bytes();
    for lane in lanes(group.mask) {
        let by = StrongAccess {
            thread: ThreadId { block, warp: w as u32, lane: lane as u32 },
            size: size as u8,
            order: a.order,
            wide: a.scope >= Scope::Gpu,
            reads: effect != Effect::Store,
            writes: effect != Effect::Load,
        };
        for part in 0..u64::from(a.count) {
            let offset = group.offsets[lane] + part * u64::from(size);
            table.access((group.segment.number, offset), by, warp);
        }
    }
    if a.order.releases() {
        warp.tick();
    }
}
