//! Orders of execution that follow from a number.

/// Most instructions of a warp's turn.
const LONGEST: u64 = 24;

/// Who goes next.
#[derive(Debug, Clone)]
pub(super) struct Schedule(u64);

impl Schedule {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another one, that draws on its own.
    pub fn fork(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 1
    }

    /// A number below `n`. `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        ((u128::from(x) * u128::from(n)) >> 64) as u64
    }

    /// The instructions of a warp's next turn.
    pub fn turn(&mut self) -> u64 {
        1 + self.below(LONGEST)
    }

    /// One of these, if there is any.
    pub fn pick(&mut self, mut among: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let count = among.clone().count() as u64;
        if count == 0 { None } else { among.nth(self.below(count) as usize) }
    }
}

/// The numbers from 0 to `count` - 1 in some order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    count: u64,
    step: u64,
    first: u64,
}

impl Order {
    pub fn rising(count: u64) -> Self {
        Self { count, step: 1, first: 0 }
    }

    /// Steps that share no factor with the count reach every number.
    pub fn drawn(count: u64, schedule: &mut Schedule) -> Self {
        let mut step = 1 + schedule.below(count);
        while gcd(step, count) != 1 {
            step = 1 + step % count;
        }
        Self { count, step, first: schedule.below(count) }
    }

    /// The number at position `i`, if there are as many.
    pub fn get(&self, i: u64) -> Option<u64> {
        let at = || (u128::from(i) * u128::from(self.step) + u128::from(self.first)) % u128::from(self.count);
        (i < self.count).then(|| at() as u64)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
