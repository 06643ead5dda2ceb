//! The shape of a launch, and the special registers that follow from it.

use super::regs::Regs;
use crate::ast::Special;
use crate::program::{FULL, LANES};

/// Shape of a launch.
#[derive(Debug, Clone)]
pub(crate) struct Geometry {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub static_shared: u32,
}

impl Geometry {
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(LANES as u32)
    }

    /// The lanes of a warp that are threads of the block.
    pub fn lanes(&self, warp: usize) -> u32 {
        let left = self.threads() - warp as u32 * LANES as u32;
        if left >= LANES as u32 { FULL } else { (1 << left) - 1 }
    }

    /// The index of block number `n`, x fastest.
    pub fn block_index(&self, n: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.grid[0]), u64::from(self.grid[1]));
        [(n % x) as u32, (n / x % y) as u32, (n / x / y) as u32]
    }

    /// Writes the special registers and the addresses of global variables that the program uses.
    pub fn fill(&self, regs: &mut Regs<'_>, warp: usize, block: [u32; 3], globals: &[u64]) {
        let program = regs.program;
        for &(special, slot) in &program.specials {
            let values = std::array::from_fn(|l| self.value(special, warp as u32, l as u32, block));
            if special.bits() == 64 {
                regs.set64(slot, &values.map(u64::from), FULL, FULL);
            } else {
                regs.set32(slot, &values, FULL, FULL);
            }
        }
        for &(index, slot) in &program.globals {
            regs.set64(slot, &[globals[index as usize]; LANES], FULL, FULL);
        }
    }

    fn value(&self, special: Special, warp: u32, lane: u32, block: [u32; 3]) -> u32 {
        let thread = warp * LANES as u32 + lane;
        let [x, y, _] = self.block;
        let below = (1u32 << lane) - 1;
        match special {
            Special::TidX => thread % x,
            Special::TidY => thread / x % y,
            Special::TidZ => thread / x / y,
            Special::NtidX => self.block[0],
            Special::NtidY => self.block[1],
            Special::NtidZ => self.block[2],
            // Without clusters, each block is one of its own.
            Special::CtaidX | Special::ClusteridX => block[0],
            Special::CtaidY | Special::ClusteridY => block[1],
            Special::CtaidZ | Special::ClusteridZ => block[2],
            Special::NctaidX | Special::NclusteridX => self.grid[0],
            Special::NctaidY | Special::NclusteridY => self.grid[1],
            Special::NctaidZ | Special::NclusteridZ => self.grid[2],
            Special::Laneid => lane,
            Special::Warpid => warp,
            Special::Nwarpid => self.warps(),
            Special::LanemaskEq => 1 << lane,
            Special::LanemaskLt => below,
            Special::LanemaskLe => below | 1 << lane,
            Special::LanemaskGt => !(below | 1 << lane),
            Special::LanemaskGe => !below,
            Special::ClusterNctaidX
            | Special::ClusterNctaidY
            | Special::ClusterNctaidZ
            | Special::ClusterNctarank
            | Special::Nsmid => 1,
            // Clocks are read by an instruction of their own; all blocks run on one multiprocessor of one grid.
            Special::ClusterCtaidX
            | Special::ClusterCtaidY
            | Special::ClusterCtaidZ
            | Special::ClusterCtarank
            | Special::Smid
            | Special::Gridid
            | Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::Globaltimer
            | Special::GlobaltimerLo
            | Special::GlobaltimerHi => 0,
            Special::DynamicSmemSize => self.dynamic_shared,
            Special::TotalSmemSize => self.dynamic_shared + self.static_shared,
        }
    }
}
