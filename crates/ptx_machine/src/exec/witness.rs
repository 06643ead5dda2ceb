//! Who looks at what a warp does to memory.

use super::memory::Group;
use super::race::{Detector, Effect, Held, Same, Step};
use crate::fault::Trap;
use crate::program::{Access, LANES};

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

    /// Lanes start to copy `bytes` bytes each, to or from where `group` says, without waiting for the end. Whether
    /// [`Witness::land_copy`] is to be told of it.
    pub fn start_copy(&mut self, group: &Group<'_>, bytes: &[u8; LANES]) -> Result<bool, Box<Trap>> {
        let Self { warp, at, .. } = *self;
        self.races.as_mut().map_or(Ok(false), |races| races.start_copy(warp, at, group, bytes))
    }

    /// Lanes have waited for what they had started.
    pub fn land_copy(&mut self, group: &Group<'_>, bytes: &[u8; LANES]) {
        let warp = self.warp;
        if let Some(races) = &mut self.races {
            races.land_copy(warp, group, bytes);
        }
    }
}
