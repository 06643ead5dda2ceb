//! IEEE binary floating point in integers: every format, every rounding, exact.
//!
//! Numbers are `(-1)^sign · sig · 2^exp` with a 128-bit `sig`. Where an exact result has more bits than that, the bits
//! that are lost are kept as a sticky lowest bit, far below any place that rounding looks at.

use crate::program::{Float, Round};

/// The layout of a binary format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// Explicit bits of the significand.
    pub mantissa: u32,
    /// Bits of the exponent.
    pub exponent: u32,
    /// What an invalid operation gives on an NVIDIA device.
    pub nan: u64,
    /// Bits of the largest number.
    pub top: u64,
    /// Whether numbers below the normal ones become zero, which is decided before they are rounded to subnormal ones.
    pub ftz: bool,
}

impl Float {
    pub fn format(self) -> Format {
        match self {
            Float::F16 => ieee(10, 5, 0x7fff),
            Float::Bf16 => ieee(7, 8, 0x7fff),
            Float::F32 => ieee(23, 8, 0x7fff_ffff),
            Float::F64 => ieee(52, 11, 0xfff8_0000_0000_0000),
            Float::E5m2 => ieee(2, 5, 0x7f),
            Float::Tf32 => ieee(10, 8, 0x3_ffff),
            // No infinities: of the highest exponent, only one value is no number.
            Float::E4m3 => Format { mantissa: 3, exponent: 4, nan: 0x7f, top: 0x7e, ftz: false },
        }
    }
}

/// A format with infinities.
fn ieee(mantissa: u32, exponent: u32, nan: u64) -> Format {
    Format { mantissa, exponent, nan, top: (((1 << exponent) - 1) << mantissa) - 1, ftz: false }
}

/// A float taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    Nan,
    Infinite {
        sign: bool,
    },
    /// Zero has `sig` 0.
    Finite {
        sign: bool,
        exp: i32,
        sig: u128,
    },
}

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    pub fn sign_bit(self) -> u64 {
        1 << (self.mantissa + self.exponent)
    }

    pub fn infinity(self, sign: bool) -> u64 {
        let bits = ((1u64 << self.exponent) - 1) << self.mantissa;
        if sign { bits | self.sign_bit() } else { bits }
    }

    pub fn zero(self, sign: bool) -> u64 {
        if sign { self.sign_bit() } else { 0 }
    }

    pub fn is_nan(self, bits: u64) -> bool {
        // An infinity, where there is one, is one past the largest number.
        bits & !self.sign_bit() > self.top + u64::from(self.has_infinity())
    }

    fn has_infinity(self) -> bool {
        self.top + 1 == self.infinity(false)
    }

    /// An infinity as the largest number of its sign.
    pub fn finite(self, bits: u64) -> u64 {
        if self.has_infinity() && bits & !self.sign_bit() == self.infinity(false) { bits - 1 } else { bits }
    }

    pub fn one(self) -> u64 {
        (self.bias() as u64) << self.mantissa
    }

    /// `result`, unless `operand` is NaN.
    pub fn keep_or_nan(self, operand: u64, result: u64) -> u64 {
        if self.is_nan(operand) { self.nan_of(&[operand]) } else { result }
    }

    /// Bits as an integer that orders numbers, -0 below +0.
    fn order(self, bits: u64) -> i64 {
        let magnitude = (bits & !self.sign_bit()) as i64;
        if bits & self.sign_bit() == 0 { magnitude } else { -magnitude - 1 }
    }

    /// The larger; the other operand of a NaN, or NaN where `nan` asks for it.
    pub fn max(self, a: u64, b: u64, nan: bool) -> u64 {
        self.pick(a, b, nan, self.order(a) >= self.order(b))
    }

    /// The smaller; as for [`Format::max`].
    pub fn min(self, a: u64, b: u64, nan: bool) -> u64 {
        self.pick(a, b, nan, self.order(a) <= self.order(b))
    }

    fn pick(self, a: u64, b: u64, nan: bool, first: bool) -> u64 {
        match (self.is_nan(a), self.is_nan(b)) {
            (true, true) => self.nan_of(&[b, a]),
            (true, false) | (false, true) if nan => self.nan_of(&[b, a]),
            (true, false) => b,
            (false, true) => a,
            _ if first => a,
            _ => b,
        }
    }

    /// Clamps to 0 … 1; NaN becomes +0.
    pub fn saturate(self, bits: u64) -> u64 {
        if self.is_nan(bits) || bits & self.sign_bit() != 0 { 0 } else { bits.min(self.one()) }
    }

    /// Neither zero nor normal.
    pub fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & !self.sign_bit();
        magnitude != 0 && magnitude < 1 << self.mantissa
    }

    /// Subnormal numbers become zero with their sign.
    pub fn flush(self, bits: u64) -> u64 {
        if self.is_subnormal(bits) { bits & self.sign_bit() } else { bits }
    }

    pub fn unpack(self, bits: u64) -> Parts {
        let sign = bits & self.sign_bit() != 0;
        let fraction = u128::from(bits & ((1 << self.mantissa) - 1));
        let biased = (bits >> self.mantissa & ((1 << self.exponent) - 1)) as i32;
        let scale = self.bias() + self.mantissa as i32;
        match biased {
            0 => Parts::Finite { sign, exp: 1 - scale, sig: fraction },
            _ if self.is_nan(bits) => Parts::Nan,
            b if self.has_infinity() && b == (1 << self.exponent) - 1 => Parts::Infinite { sign },
            b => Parts::Finite { sign, exp: b - scale, sig: fraction | 1 << self.mantissa },
        }
    }

    /// The bits of `(-1)^sign · sig · 2^exp`, rounded.
    pub fn round(self, sign: bool, exp: i32, sig: u128, round: Round) -> u64 {
        if sig == 0 {
            return self.zero(sign);
        }
        let top = 127 - sig.leading_zeros() as i32;
        let mantissa = self.mantissa as i32;
        if self.ftz && self.is_tiny(sign, exp, sig, round) {
            return self.zero(sign);
        }
        // Exponent of the result's lowest bit: that of a normal number, or of all subnormal ones.
        let lowest = (exp + top - mantissa).max(1 - self.bias() - mantissa);
        let mut kept = shift_rounded(sig, lowest - exp, sign, round);
        let mut lowest = lowest;
        if kept >> (mantissa + 1) != 0 {
            kept >>= 1;
            lowest += 1;
        }
        let is_normal = kept >> mantissa != 0;
        let biased = if is_normal { lowest + mantissa + self.bias() } else { 0 };
        let fraction = kept as u64 & ((1 << self.mantissa) - 1);
        let magnitude = (biased as u64) << self.mantissa | fraction;
        if magnitude > self.top { self.overflow(sign, round) } else { self.zero(sign) | magnitude }
    }

    /// Whether a number, rounded as if exponents had no end, lies below the normal ones.
    fn is_tiny(self, sign: bool, exp: i32, sig: u128, round: Round) -> bool {
        let dropped = (127 - sig.leading_zeros() as i32 - self.mantissa as i32).max(0);
        let kept = shift_rounded(sig, dropped, sign, round);
        exp + dropped + 127 - (kept.leading_zeros() as i32) < 1 - self.bias()
    }

    fn overflow(self, sign: bool, round: Round) -> u64 {
        let to_infinity = match round {
            Round::Nearest | Round::Away => true,
            Round::Zero => false,
            Round::Down => sign,
            Round::Up => !sign,
        };
        if to_infinity && self.has_infinity() { self.infinity(sign) } else { self.zero(sign) | self.top }
    }

    pub fn is_f64(self) -> bool {
        self.mantissa == Float::F64.format().mantissa
    }

    /// What an operation with a NaN operand gives, or an invalid one with none. Only f64 keeps payloads: the first of
    /// the operands that is NaN, made quiet. Callers name them in the order in which devices look at them: of the
    /// second, the third and the first, but for divisions, which are subroutines.
    fn nan_of(self, operands: &[u64]) -> u64 {
        let kept = operands.iter().find(|&&bits| self.is_f64() && self.is_nan(bits));
        kept.map_or(self.nan, |bits| bits | self.quiet())
    }

    fn quiet(self) -> u64 {
        1 << (self.mantissa - 1)
    }

    /// The NaN that one of another format becomes: to and from f64 with the highest bits of its payload.
    fn nan_from(self, from: Format, bits: u64) -> u64 {
        if self.is_f64() == from.is_f64() {
            return self.nan_of(&[bits]);
        }
        let payload = bits & ((1 << from.mantissa) - 1);
        let moved = if self.is_f64() {
            payload << (self.mantissa - from.mantissa)
        } else {
            payload >> (from.mantissa - self.mantissa)
        };
        self.infinity(bits & from.sign_bit() != 0) | moved | self.quiet()
    }

    /// `a · b + c` with one rounding.
    pub fn fma(self, a: u64, b: u64, c: u64, round: Round) -> u64 {
        use Parts::{Finite, Infinite, Nan};
        let invalid = || self.nan_of(&[b, c, a]);
        let (x, y, z) = (self.unpack(a), self.unpack(b), self.unpack(c));
        match (x, y, z) {
            (Nan, ..)
            | (_, Nan, _)
            | (_, _, Nan)
            | (Infinite { .. }, Finite { sig: 0, .. }, _)
            | (Finite { sig: 0, .. }, Infinite { .. }, _) => invalid(),
            (Infinite { sign: s }, Infinite { sign: t } | Finite { sign: t, .. }, z)
            | (Finite { sign: s, .. }, Infinite { sign: t }, z) => match z {
                Infinite { sign } if sign != (s != t) => invalid(),
                _ => self.infinity(s != t),
            },
            (_, _, Infinite { sign }) => self.infinity(sign),
            (
                Finite { sign: s, exp: e, sig: m },
                Finite { sign: t, exp: f, sig: n },
                Finite { sign: u, exp: g, sig: o },
            ) => {
                let product = (s != t, e + f, m * n);
                self.sum(product, (u, g, o), round)
            }
        }
    }

    pub fn add(self, a: u64, b: u64, round: Round) -> u64 {
        self.fma(a, self.one(), b, round)
    }

    pub fn sub(self, a: u64, b: u64, round: Round) -> u64 {
        if self.is_nan(b) { self.add(a, b, round) } else { self.add(a, b ^ self.sign_bit(), round) }
    }

    pub fn mul(self, a: u64, b: u64, round: Round) -> u64 {
        use Parts::{Finite, Infinite, Nan};
        match (self.unpack(a), self.unpack(b)) {
            (Nan, _) | (_, Nan) => self.nan_of(&[b, a]),
            (Infinite { .. }, Finite { sig: 0, .. }) | (Finite { sig: 0, .. }, Infinite { .. }) => self.nan_of(&[]),
            (Infinite { sign: s }, Infinite { sign: t } | Finite { sign: t, .. })
            | (Finite { sign: s, .. }, Infinite { sign: t }) => self.infinity(s != t),
            (Finite { sign: s, exp: e, sig: m }, Finite { sign: t, exp: f, sig: n }) => {
                self.round(s != t, e + f, m * n, round)
            }
        }
    }

    pub fn div(self, a: u64, b: u64, round: Round) -> u64 {
        use Parts::{Finite, Infinite, Nan};
        match (self.unpack(a), self.unpack(b)) {
            (Nan, _) | (_, Nan) => self.nan_of(&[a, b]),
            (Infinite { .. }, Infinite { .. }) | (Finite { sig: 0, .. }, Finite { sig: 0, .. }) => self.nan_of(&[]),
            (Infinite { sign: s }, Finite { sign: t, .. })
            | (Finite { sign: s, .. }, Finite { sign: t, sig: 0, .. }) => self.infinity(s != t),
            (Finite { sign: s, .. }, Infinite { sign: t })
            | (Finite { sign: s, sig: 0, .. }, Finite { sign: t, .. }) => self.zero(s != t),
            (Finite { sign: s, exp: e, sig: m }, Finite { sign: t, exp: f, sig: n }) => {
                let (shift, m) = normal(m);
                let quotient = (m / n) | u128::from(m % n != 0);
                self.round(s != t, e - shift - f, quotient, round)
            }
        }
    }

    pub fn sqrt(self, a: u64, round: Round) -> u64 {
        match self.unpack(a) {
            Parts::Nan => self.nan_of(&[a]),
            Parts::Finite { sig: 0, .. } | Parts::Infinite { sign: false } => a,
            Parts::Infinite { sign: true } | Parts::Finite { sign: true, .. } => self.nan_of(&[]),
            Parts::Finite { exp, sig, .. } => {
                let (shift, mut sig) = normal(sig);
                let mut exp = exp - shift;
                if exp & 1 != 0 {
                    sig >>= 1;
                    exp += 1;
                }
                let root = sig.isqrt();
                self.round(false, exp / 2, root | u128::from(root * root != sig), round)
            }
        }
    }

    /// The sum of two numbers, neither of them infinite.
    fn sum(self, a: (bool, i32, u128), b: (bool, i32, u128), round: Round) -> u64 {
        let cancelled = round == Round::Down;
        match (a.2, b.2) {
            (0, 0) => return self.zero(if a.0 == b.0 { a.0 } else { cancelled }),
            (0, _) => return self.round(b.0, b.1, b.2, round),
            (_, 0) => return self.round(a.0, a.1, a.2, round),
            _ => {}
        }
        let (shift_a, m) = normal(a.2);
        let (shift_b, n) = normal(b.2);
        let (e, f) = (a.1 - shift_a, b.1 - shift_b);
        let exp = e.max(f);
        let (m, n) = (shift_sticky(m, exp - e), shift_sticky(n, exp - f));
        if a.0 == b.0 {
            return self.round(a.0, exp, m + n, round);
        }
        match m.cmp(&n) {
            std::cmp::Ordering::Equal => self.zero(cancelled),
            std::cmp::Ordering::Greater => self.round(a.0, exp, m - n, round),
            std::cmp::Ordering::Less => self.round(b.0, exp, n - m, round),
        }
    }

    /// Rounds to a whole number in the same format; keeps the sign of zero.
    pub fn round_integral(self, a: u64, round: Round) -> u64 {
        match self.unpack(a) {
            Parts::Nan => self.nan_of(&[a]),
            Parts::Finite { sign, exp, sig } if exp < 0 => {
                let whole = shift_rounded(sig, -exp, sign, round);
                self.round(sign, 0, whole, round)
            }
            // Every larger number is whole.
            Parts::Finite { .. } | Parts::Infinite { .. } => a,
        }
    }

    /// Converts from another format.
    pub fn convert(self, from: Format, a: u64, round: Round) -> u64 {
        match from.unpack(a) {
            Parts::Nan => self.nan_from(from, a),
            Parts::Infinite { sign } if self.has_infinity() => self.infinity(sign),
            Parts::Infinite { sign } => self.zero(sign) | self.top,
            Parts::Finite { sign, exp, sig } => self.round(sign, exp, sig, round),
        }
    }
}

/// Shifts the highest bit to bit 125, which leaves room for a sum; how far, and the result.
fn normal(sig: u128) -> (i32, u128) {
    let shift = sig.leading_zeros() as i32 - 2;
    if shift >= 0 { (shift, sig << shift) } else { (shift, shift_sticky(sig, -shift)) }
}

/// Shifts right; bits that are lost stay as the lowest bit.
fn shift_sticky(sig: u128, by: i32) -> u128 {
    match by {
        0 => sig,
        1..=127 => sig >> by | u128::from(sig & ((1 << by) - 1) != 0),
        _ => u128::from(sig != 0),
    }
}

/// `sig · 2^-by`, rounded to a whole number; the sign says which way is down.
pub(crate) fn shift_rounded(sig: u128, by: i32, sign: bool, round: Round) -> u128 {
    if by <= 0 {
        return sig << -by;
    }
    let (kept, lost, half) =
        if by > 127 { (0, u128::from(sig != 0), 2) } else { (sig >> by, sig & ((1 << by) - 1), 1 << (by - 1)) };
    let up = match round {
        Round::Nearest => lost > half || (lost == half && kept & 1 == 1),
        Round::Away => lost >= half,
        Round::Zero => false,
        Round::Down => sign && lost != 0,
        Round::Up => !sign && lost != 0,
    };
    kept + u128::from(up)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Float, Round};

    const ROUNDS: [Round; 4] = [Round::Nearest, Round::Zero, Round::Down, Round::Up];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

        /// The nearest result is one of the two that bracket the exact one, which the other directions give.
        #[test]
        fn directions_bracket(a in any::<u64>(), b in any::<u64>(), c in any::<u64>()) {
            for float in [Float::F16, Float::Bf16, Float::F32, Float::F64] {
                let f = float.format();
                let cut = f.sign_bit() | (f.sign_bit() - 1);
                let (a, b, c) = (a & cut, b & cut, c & cut);
                let results = [
                    ROUNDS.map(|r| f.fma(a, b, c, r)),
                    ROUNDS.map(|r| f.add(a, b, r)),
                    ROUNDS.map(|r| f.mul(a, b, r)),
                    ROUNDS.map(|r| f.div(a, b, r)),
                    ROUNDS.map(|r| f.sqrt(a, r)),
                ];
                for [nearest, zero, down, up] in results {
                    if f.is_nan(nearest) {
                        prop_assert!(f.is_nan(zero) && f.is_nan(down) && f.is_nan(up));
                        continue;
                    }
                    if (down | up) & !f.sign_bit() == 0 {
                        // An exact zero: only its sign depends on the direction.
                        prop_assert_eq!(zero & !f.sign_bit(), 0);
                        continue;
                    }
                    let (low, high) = (f.order(down), f.order(up));
                    prop_assert!(high == low || high == low + 1, "{float:?} {a:x} {b:x} {c:x}: {down:x} {up:x}");
                    prop_assert!(nearest == down || nearest == up);
                    let inward = if up & f.sign_bit() == 0 { down } else { up };
                    prop_assert_eq!(zero, inward);
                }
            }
        }

        /// Division undoes multiplication where that is exact, and squares have their roots.
        #[test]
        fn exact_results_are_exact(a in 1u64..1 << 12, b in 1u64..1 << 12) {
            let f = Float::F32.format();
            let number = |n: u64| f.round(false, 0, n.into(), Round::Nearest);
            for round in ROUNDS {
                prop_assert_eq!(f.div(number(a * b), number(b), round), number(a));
                prop_assert_eq!(f.sqrt(number(a * a), round), number(a));
                prop_assert_eq!(f.sub(number(a + b), number(b), round), number(a));
            }
        }
    }
}
