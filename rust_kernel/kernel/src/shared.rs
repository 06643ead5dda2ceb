//! The block's dynamic shared memory, which serves twice: each warp's ring of rows while the split is walked
//! (`ring.rs`), then what the warps exchange to be merged. Both lie in the warp's own part, so that a warp which is
//! done need not wait for the others before it leaves its results.

use crate::target::{BLOCK_LIMIT, CAN_START_EARLY};

/// Bytes of shared memory with which no second block fits a multiprocessor, which has half as much for each of two and
/// 1 KB of each for the driver. Blocks of a kernel that starts early must not meet: those of the next call would take
/// the places that come free first, two on some multiprocessors and none on others, and stay there.
const ALONE: usize = if CAN_START_EARLY { (BLOCK_LIMIT + 1024) / 2 } else { 0 };

/// Bytes that a block's rings take at most, unless two steps take more.
const RINGS: usize = 96 * 1024;

/// What decides the layout, as in the entry's name: bytes of an element of K, heads a group, head dimension, warps a
/// block, rows a step.
pub struct Shape {
    pub element: usize,
    pub heads: usize,
    pub head_dim: usize,
    pub warps: usize,
    pub rows: usize,
}

impl Shape {
    /// Steps whose rows wait in shared memory: two or more where the block has room for them and a lane's part of a row
    /// is whole vectors of 16 bytes. If not, none: rows go straight to registers.
    pub(crate) const fn ring_steps(&self) -> usize {
        let step = self.warps * self.step();
        let steps = if RINGS / step > 2 { RINGS / step } else { 2 };
        let fits = steps * step <= BLOCK_LIMIT && (self.head_dim * self.element).is_multiple_of(32 * 16);
        if fits { steps } else { 0 }
    }

    /// Bytes of dynamic shared memory that a launch needs: the rings or what the merge takes, whichever is more, and
    /// what keeps a block alone. The launching code follows the same rule, by the architecture of the PTX that it loads.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        let merge = self.warps * (self.accumulators() + self.sums());
        let rings = self.warps * self.ring();
        let used = if rings > merge { rings } else { merge };
        if used > ALONE { used } else { ALONE }
    }

    /// Bytes from one warp's part to the next one's.
    pub(crate) const fn part(&self) -> usize {
        let ring = self.ring();
        let part = if ring > self.accumulators() { ring } else { self.accumulators() };
        let room = self.accumulators() + self.warps * self.sums();
        assert!(part == self.accumulators() || part >= room, "the sums fit nowhere");
        part
    }

    /// Bytes of a warp's ring.
    const fn ring(&self) -> usize {
        self.ring_steps() * self.step()
    }

    /// Bytes of a warp's step: `rows` rows of K and of V.
    const fn step(&self) -> usize {
        2 * self.rows * self.head_dim * self.element
    }

    /// Bytes of a warp's accumulators.
    const fn accumulators(&self) -> usize {
        4 * self.heads * self.head_dim
    }

    /// Bytes of a warp's maxima and sums.
    const fn sums(&self) -> usize {
        2 * 4 * self.heads
    }
}

/// Where the warps leave their results. Each warp's part of `PART` bytes begins with `acc`, `[G, D]`, four dimensions
/// where [`place_of_four`] says. `m` and `s` are `[G, W]` each, so that what the lanes of a merging warp read lies in as
/// many banks. They stand behind all parts; but where a part goes on behind `acc`, each has arrays of its own there, and
/// uses the column of its warp.
pub struct Exchange<const G: usize, const D: usize, const W: usize, const PART: usize> {
    base: *mut u8,
}

impl<const G: usize, const D: usize, const W: usize, const PART: usize> Exchange<G, D, W, PART> {
    /// `base` is the block's dynamic shared memory, aligned to 16, as is `PART`.
    #[inline(always)]
    pub fn new(base: *mut u8) -> Self {
        Self { base }
    }

    /// A warp's part: its ring, until it leaves its results.
    #[inline(always)]
    pub fn part(&self, warp: usize) -> *mut u8 {
        self.base.wrapping_add(warp * PART)
    }

    #[inline(always)]
    pub fn acc(&self, warp: usize) -> *mut f32 {
        self.part(warp).cast()
    }

    /// A warp's maxima, of each head `W` floats further.
    #[inline(always)]
    pub fn m(&self, warp: usize) -> *mut f32 {
        let arrays = if const { PART > 4 * G * D } { self.acc(warp).wrapping_add(G * D) } else { self.acc(W) };
        arrays.wrapping_add(warp)
    }

    /// A warp's sums, likewise.
    #[inline(always)]
    pub fn s(&self, warp: usize) -> *mut f32 {
        self.m(warp).wrapping_add(G * W)
    }
}

/// Where in a head's accumulators the four dimensions from `dim` on stand, `dim` being a multiple of 4.
///
/// Lanes that hold eight dimensions in a row store every other four at once, of which those of lanes l and l + 4 would
/// meet in the same banks. So in every other 32 dimensions neighbouring fours change places.
#[inline(always)]
pub const fn place_of_four(dim: usize) -> usize {
    let four = dim / 4;
    4 * (four ^ (four >> 3 & 1))
}
