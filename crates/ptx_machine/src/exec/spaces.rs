//! The state spaces that a warp sees, and where an address leads.

use crate::fault::{FaultKind, Trap};
use crate::memory::{Segment, find, nearest};
use crate::program::Program;
use crate::types::Space;

/// Memory of every space; those of a block and of a lane belong to the block being run.
#[derive(Debug)]
pub(crate) struct Spaces<'m> {
    pub global: &'m [Segment],
    pub constant: &'m [Segment],
    pub param: &'m [Segment],
    pub shared: Vec<Segment>,
    /// One list for each warp.
    pub local: Vec<Vec<Segment>>,
}

impl<'m> Spaces<'m> {
    /// The spaces of a block of `warps` warps with nothing written in its own memory.
    pub fn new(
        program: &Program,
        global: &'m [Segment],
        constant: &'m [Segment],
        param: &'m [Segment],
        warps: u32,
        dynamic_shared: u32,
    ) -> Self {
        let place = |p: &crate::program::Placed, lanes| Segment::unwritten(&p.name, p.address, p.bytes, lanes);
        let mut shared: Vec<Segment> = program.shared.iter().map(|p| place(p, 0)).collect();
        if let Some(p) = &program.dynamic_shared {
            shared.push(Segment::unwritten(&p.name, p.address, u64::from(dynamic_shared), 0));
        }
        let stack = || program.local.iter().map(|p| place(p, 32)).collect();
        for (number, segment) in (0..).zip(&mut shared) {
            segment.number = number;
        }
        Self { global, constant, param, shared, local: (0..warps).map(|_| stack()).collect() }
    }

    /// Forgets what a block wrote to its own memory.
    pub fn reset(&mut self) {
        self.shared.iter_mut().for_each(Segment::reset);
        self.local.iter_mut().flatten().for_each(Segment::reset);
    }

    /// The segments of a space, for a warp.
    #[inline]
    pub fn of(&self, space: Space, warp: usize) -> &[Segment] {
        match space {
            Space::Global | Space::Generic => self.global,
            Space::Shared => &self.shared,
            Space::Local => &self.local[warp],
            Space::Const => self.constant,
            Space::Param => self.param,
        }
    }

    /// The segment in which `bytes` bytes at `address` lie.
    #[inline]
    pub fn locate(&self, space: Space, warp: usize, address: u64, bytes: u32) -> Option<&Segment> {
        let segment = find(self.of(space, warp), address)?;
        (address - segment.base + u64::from(bytes) <= segment.len).then_some(segment)
    }

    /// What is wrong with an access that [`Spaces::locate`] finds nothing for.
    #[cold]
    pub fn explain(&self, space: Space, warp: usize, lane: u32, address: u64, bytes: u32) -> Box<Trap> {
        let own = space.word();
        let others = [Space::Global, Space::Shared, Space::Local, Space::Const, Space::Param];
        let elsewhere = others.iter().filter(|&&s| s != space).find_map(|&other| {
            // The number may be an address of the other space, or a generic one that leads there.
            let as_generic = address.wrapping_sub(other.window());
            let candidates = [Some(as_generic), (other != Space::Global).then_some(address)];
            let found = |a: u64| self.locate(other, warp, a, 1).map(|s| (other, s, a - s.base));
            candidates.into_iter().flatten().find_map(found)
        });
        let (kind, message) = match elsewhere {
            Some((other, segment, offset)) => (
                FaultKind::WrongSpace,
                format!(
                    "{bytes} bytes are outside {own} memory; the address is `{}`+{offset} of {} memory",
                    segment.name,
                    other.word()
                ),
            ),
            None => (
                FaultKind::OutOfBounds,
                format!("{bytes} bytes are outside {own} memory ({})", nearest(self.of(space, warp), address)),
            ),
        };
        Box::new(Trap { kind, lane: Some(lane), address: Some(address), message })
    }
}
