//! Accesses of a launch that may have started before those before it had ended.
//!
//! `griddepcontrol.wait` ends when the launches that this one depends on have ended and what they wrote is visible. What
//! a thread does before it may meet anything that they do.

use super::super::memory::{Group, lanes};
use super::report::Site;
use super::{Checked, Detector, Effect, Step, copied_words, words_of};
use crate::fault::{FaultKind, Trap};
use crate::memory::{Deed, Early, History};
use crate::program::LANES;

impl Detector<'_> {
    /// `griddepcontrol.wait`.
    pub fn wait_for_launches(&mut self, warp: usize, lanes: u32) {
        self.waited[warp] |= lanes;
        self.global.note_wait();
    }

    /// Lanes access global memory, where there are launches that this one may overlap.
    #[inline]
    pub(super) fn check_early(&self, history: &History, step: &Step<'_>) -> Checked<()> {
        if self.may_be_early(history, step) { self.check_access(history, step) } else { Ok(()) }
    }

    /// Whether some lane may still meet a launch before this one.
    #[inline]
    fn may_be_early(&self, history: &History, step: &Step<'_>) -> bool {
        step.group.mask & !self.waited[step.warp] != 0 || history.outlasts_waits()
    }

    #[cold]
    #[inline(never)]
    fn check_access(&self, history: &History, step: &Step<'_>) -> Checked<()> {
        let total = step.access.ty.bytes() * u32::from(step.access.count);
        self.check_words(history, step, |lane| {
            let (first, count, bytes) = words_of(step.group.offsets[lane], total);
            (first..first + count).map(move |word| (word, bytes))
        })
    }

    /// Lanes start asynchronous copies from global memory, as [`Detector::check_early`].
    #[inline]
    pub(super) fn check_early_copy(&self, history: &History, step: &Step<'_>, bytes: &[u8; LANES]) -> Checked<()> {
        if self.may_be_early(history, step) { self.check_copy(history, step, bytes) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_copy(&self, history: &History, step: &Step<'_>, bytes: &[u8; LANES]) -> Checked<()> {
        let step = Step { effect: Effect::Load, ..*step };
        self.check_words(history, &step, |lane| copied_words(step.group.offsets[lane], bytes[lane]))
    }

    fn check_words<W: Iterator<Item = (usize, u8)>>(
        &self,
        history: &History,
        step: &Step<'_>,
        words: impl Fn(usize) -> W,
    ) -> Checked<()> {
        let Group { segment, mask, .. } = step.group;
        for lane in lanes(*mask) {
            let waited = self.waited[step.warp] >> lane & 1 != 0;
            for (word, bytes) in words(lane) {
                let writes = step.effect != Effect::Load;
                if let Some(early) = history.conflict(segment.number, word, bytes, writes, waited) {
                    return Err(self.site(step, word).early(lane as u32, early));
                }
            }
        }
        Ok(())
    }
}

impl Site<'_> {
    /// This access conflicts with one of a launch that may not have ended.
    fn early(&self, lane: u32, early: Early) -> Box<Trap> {
        let offset = 4 * self.word as u64 + u64::from(early.bytes.trailing_zeros() % 4);
        let did = match early.deed {
            Deed::Wrote => "wrote",
            Deed::Read => "read",
        };
        let (what, name) = (self.what(self.at), &self.segment.name);
        let message = if early.is_covered {
            format!(
                "{what} of `{name}`+{offset}, which a launch before this one {did}, before griddepcontrol.wait: that \
                 launch may still be running"
            )
        } else {
            format!(
                "{what} of `{name}`+{offset}, which an earlier launch {did}: it may still be running, as a programmatic \
                 launch after it ended with no thread of it at griddepcontrol.wait"
            )
        };
        let address = Some(self.segment.base + offset);
        Box::new(Trap { kind: FaultKind::Race, lane: Some(lane), address, message })
    }
}
