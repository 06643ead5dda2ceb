//! Reports of races, with both accesses.

use super::super::Geometry;
use super::record::{Clash, PENDING, Record};
use crate::fault::{FaultKind, Trap};
use crate::memory::Segment;
use crate::program::{Op, Program};
use crate::types::Space;

/// An access that may not be, and the word that it meets another one at.
pub(super) struct Site<'a> {
    pub program: &'a Program,
    pub geometry: &'a Geometry,
    pub block: u32,
    pub warp: u32,
    pub at: u32,
    pub space: Space,
    pub segment: &'a Segment,
    pub word: usize,
    /// Whether two lanes store the same value.
    pub same: Option<Same<'a>>,
}

/// Whether two lanes store the same value.
pub(crate) type Same<'a> = &'a dyn Fn(usize, usize) -> bool;

impl Site<'_> {
    /// No order between this access and an earlier one.
    pub fn race(&self, clash: &Clash) -> Box<Trap> {
        let what = self.what(self.at);
        let message = format!("nothing orders this {what} of {} and the {}", self.place(clash), self.other(clash));
        self.trap(FaultKind::Race, clash, message)
    }

    /// `ld.global.nc` of what the launch writes.
    pub fn non_coherent(&self, clash: &Clash) -> Box<Trap> {
        let message = format!(
            "ld.global.nc reads {}, which the same launch writes: this {}, and the {}",
            self.place(clash),
            self.what(self.at),
            self.other(clash)
        );
        self.trap(FaultKind::NonCoherentRead, clash, message)
    }

    /// What an instruction does to memory.
    pub fn what(&self, at: u32) -> &'static str {
        match self.program.insts[at as usize].op {
            Op::Load(_) => "load",
            Op::Store(_) => "store",
            Op::AsyncCopy(_) => "asynchronous copy",
            _ => "atomic operation",
        }
    }

    /// The first byte that both access.
    fn offset(&self, clash: &Clash) -> u64 {
        4 * self.word as u64 + u64::from(clash.bytes.trailing_zeros() % 4)
    }

    fn place(&self, clash: &Clash) -> String {
        format!("`{}`+{}", self.segment.name, self.offset(clash))
    }

    fn other(&self, clash: &Clash) -> String {
        let Record { unit, lanes, time, at, .. } = clash.other;
        let warps = self.geometry.warps();
        let (block, warp) = if self.space == Space::Shared { (self.block, unit) } else { (unit / warps, unit % warps) };
        let (what, line) = (self.what(at), self.program.places[at as usize].line);
        let pending = if time == PENDING { " (not waited for)" } else { "" };
        let lane = lanes.trailing_zeros();
        let whose = match (block == self.block, block == self.block && warp == self.warp) {
            (_, true) if lane == clash.lane => "the same lane".to_owned(),
            (_, true) if at == self.at && time != PENDING => match self.same {
                Some(same) if same(lane as usize, clash.lane as usize) => {
                    format!("lane {lane} in the same step, with the same value")
                }
                Some(_) => format!("lane {lane} in the same step, with another value"),
                None => format!("lane {lane} of the same warp"),
            },
            (_, true) => format!("lane {lane} of the same warp"),
            (true, _) => format!("warp {warp}, lane {lane} of the same block"),
            (false, _) => {
                let [x, y, z] = self.geometry.block_index(u64::from(block));
                format!("block ({x}, {y}, {z}), warp {warp}, lane {lane}")
            }
        };
        format!("{what} of line {line}{pending} by {whose}")
    }

    fn trap(&self, kind: FaultKind, clash: &Clash, message: String) -> Box<Trap> {
        let address = Some(self.segment.base + self.offset(clash));
        Box::new(Trap { kind, lane: Some(clash.lane), address, message })
    }
}
