//! Who looks at what a warp does to memory.

use super::memory::Group;
use super::race::{CopyEnd, Detector, Effect, Held, Same, Step};
use super::spaces::Spaces;
use crate::fault::Trap;
use crate::program::Access;

/// Sees the accesses of one instruction of a warp.
pub(super) struct Witness<'w, 'a> {
    /// None where races are not looked for.
    pub races: Option<&'w mut Detector<'a>>,
    pub warp: usize,
    /// The instruction.
    pub at: u32,
}

impl<'a> Witness<'_, 'a> {
    /// Lanes are about to access memory that they may access; keep the result until the data has moved.
    ///
    /// `same` says of a store whether two lanes store the same value.
    #[inline]
    pub fn access(
        &mut self,
        group: &Group<'_>,
        access: &Access,
        effect: Effect,
        same: Option<Same<'_>>,
    ) -> Result<Held<'a>, Box<Trap>> {
        let Self { warp, at, .. } = *self;
        match &mut self.races {
            None => Ok(Held::nothing()),
            Some(races) => races.access(Step { warp, at, group, access, effect, same }),
        }
    }

    /// A lane starts to copy to or from here without waiting for the end.
    pub fn start_copy(&mut self, lane: usize, end: CopyEnd, spaces: &Spaces<'_>) -> Result<(), Box<Trap>> {
        let Self { warp, at, .. } = *self;
        self.races.as_mut().map_or(Ok(()), |races| races.start_copy(warp, at, lane, end, spaces))
    }

    /// What a lane has started is done.
    pub fn land_copy(&mut self, lane: usize, end: CopyEnd) {
        let warp = self.warp;
        if let Some(races) = &mut self.races {
            races.land_copy(warp, lane, end);
        }
    }
}
