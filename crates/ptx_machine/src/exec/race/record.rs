//! What is remembered of an access to one word of memory, and when two accesses race.

use super::clock::VectorClock;

/// The time of an asynchronous copy that no one has waited for: later than any that a clock knows.
pub(super) const PENDING: u32 = u32::MAX;
/// The highest time that a warp's clock reaches.
pub(super) const LAST: u32 = u32::MAX - 1;

/// Which bytes of a word are accessed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct How {
    /// Bit `i`: byte `i` of the word.
    pub bytes: u8,
    /// Bytes of the whole scalar that the word is part of: strong accesses of other sizes do race.
    pub size: u8,
    /// It writes (and reads too, if it is atomic).
    pub writes: bool,
    strength: u8,
}

const STRONG: u8 = 1;
const WIDE: u8 = 2;

impl How {
    pub fn weak(size: u8, writes: bool) -> Self {
        Self { bytes: 0xf, size, writes, strength: 0 }
    }

    /// A strong access; `wide`: with a scope that includes other blocks.
    pub fn strong(self, wide: bool) -> Self {
        Self { strength: if wide { STRONG | WIDE } else { STRONG }, ..self }
    }

    /// The same of other bytes of the word.
    #[inline]
    pub fn of(self, bytes: u8) -> Self {
        Self { bytes, ..self }
    }

    #[inline]
    pub fn is_weak(self) -> bool {
        self.strength == 0
    }

    pub fn is_wide(self) -> bool {
        self.strength & WIDE != 0
    }

    #[inline]
    fn conflicts(self, other: How) -> bool {
        self.bytes & other.bytes != 0 && (self.writes || other.writes)
    }

    /// Whatever races with `other` and comes after this races with this.
    fn stands_for(self, other: How) -> bool {
        self.bytes & other.bytes == other.bytes
            && (self.writes || !other.writes)
            && (self.is_weak() || (self.size == other.size && self.strength & other.strength == self.strength))
            && (self.is_weak() || !other.is_weak())
    }
}

/// An access of some lanes of a warp to a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Record {
    /// Number of the warp: in the block for shared memory, in the launch for global memory.
    pub unit: u32,
    pub lanes: u32,
    /// By the warp's clock; 0: this is no access.
    pub time: u32,
    /// The instruction.
    pub at: u32,
    pub how: How,
}

impl Record {
    #[inline]
    pub fn is_none(&self) -> bool {
        self.time == 0
    }

    /// The same access by more lanes.
    #[inline]
    pub fn is_same_step(&self, other: &Record) -> bool {
        self.unit == other.unit && self.time == other.time && self.at == other.at && self.how == other.how
    }
}

/// Two accesses that nothing orders: the lane of the one being made, and the earlier one with a single lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clash {
    pub lane: u32,
    pub other: Record,
    /// The bytes of the word that both access.
    pub bytes: u8,
}

/// The threads that make an access: lanes of one warp that know the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Actor<'c> {
    pub clock: &'c VectorClock,
    /// Number of the block's first warp, and of this warp.
    pub first_unit: u32,
    pub unit: u32,
}

impl Actor<'_> {
    /// Lanes of an earlier access that are not known to come before, the actor's own among them.
    #[inline(always)]
    fn unseen(&self, old: &Record) -> u32 {
        let warp = old.unit.wrapping_sub(self.first_unit);
        if warp < self.clock.warps() {
            return self.clock.unseen(warp, old.time, old.lanes);
        }
        self.unseen_elsewhere(old)
    }

    #[cold]
    fn unseen_elsewhere(&self, old: &Record) -> u32 {
        let warps = self.clock.warps();
        self.clock.unseen_elsewhere(old.unit / warps, old.unit % warps, old.time, old.lanes)
    }

    /// Whether the access `new` races with an earlier one.
    #[inline(always)]
    pub fn check(&self, old: &Record, new: &Record) -> Result<(), Clash> {
        if old.is_none() || !old.how.conflicts(new.how) {
            return Ok(());
        }
        let unseen = self.unseen(old);
        // Most often the lanes have met since, or it is a lane's own.
        let is_own = || old.unit == self.unit && unseen == new.lanes && unseen.is_power_of_two() && old.time != PENDING;
        if unseen == 0 || is_own() { Ok(()) } else { self.check_unseen(old, new, unseen) }
    }

    #[cold]
    fn check_unseen(&self, old: &Record, new: &Record, unseen: u32) -> Result<(), Clash> {
        if self.are_mutual(old, new) {
            return Ok(());
        }
        let is_own = old.unit == self.unit && old.time != PENDING;
        let others = |lane: u32| if is_own { unseen & !(1 << lane) } else { unseen };
        let lane = (0..32).find(|&l| new.lanes >> l & 1 != 0 && others(l) != 0);
        lane.map_or(Ok(()), |lane| {
            let other = Record { lanes: 1 << others(lane).trailing_zeros(), ..*old };
            Err(Clash { lane, other, bytes: old.how.bytes & new.how.bytes })
        })
    }

    /// Both are strong, at scopes that include each other, and access the very same bytes.
    fn are_mutual(&self, old: &Record, new: &Record) -> bool {
        let (a, b) = (old.how, new.how);
        let is_same_block = old.unit.wrapping_sub(self.first_unit) < self.clock.warps();
        !a.is_weak() && !b.is_weak() && a.size == b.size && (is_same_block || (a.is_wide() && b.is_wide()))
    }

    /// Lanes of `old` that need no longer be remembered once `new` is.
    #[inline(always)]
    pub fn superseded(&self, old: &Record, new: &Record) -> u32 {
        if old.time == PENDING || !new.how.stands_for(old.how) {
            return 0;
        }
        let own = if old.unit == self.unit { new.lanes } else { 0 };
        old.lanes & (own | !self.unseen(old))
    }
}
