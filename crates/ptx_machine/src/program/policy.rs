//! Cache policies as values of 64 bits.
//!
//! PTX leaves open what a policy looks like. Here each is an odd multiple of one large odd number, of which there are
//! few enough that no address, count or constant of another meaning is one, nor what is one more or less than a policy.

/// 2^64 divided by the golden ratio: its multiples lie far apart.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What multiplies `STEP` to 1.
const INVERSE: u64 = inverse(STEP);

/// Priorities that a policy gives to part of its accesses, and to the others.
const PRIMARY: [&str; 4] = ["L2::evict_first", "L2::evict_last", "L2::evict_normal", "L2::evict_unchanged"];
const SECONDARY: [&str; 2] = ["L2::evict_unchanged", "L2::evict_first"];

/// Newton's iteration, which doubles the correct bits; an odd number is its own inverse in the lowest three.
const fn inverse(odd: u64) -> u64 {
    let (mut x, mut bits) = (odd, 3);
    while bits < 64 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        bits *= 2;
    }
    x
}

/// The policy with these priorities; without a second one, the others keep theirs.
pub(crate) fn policy(primary: &str, secondary: Option<&str>) -> Option<u64> {
    let secondary = secondary.unwrap_or(SECONDARY[0]);
    let primary = PRIMARY.iter().position(|&word| word == primary)?;
    let number = primary * SECONDARY.len() + SECONDARY.iter().position(|&word| word == secondary)?;
    Some(STEP.wrapping_mul(2 * number as u64 + 1))
}

/// Whether [`policy`] gives this value for some priorities.
#[inline]
pub(crate) fn is_policy(value: u64) -> bool {
    let multiple = value.wrapping_mul(INVERSE);
    multiple & 1 == 1 && multiple < 2 * (PRIMARY.len() * SECONDARY.len()) as u64
}

#[cfg(test)]
mod tests {
    use super::{PRIMARY, SECONDARY, is_policy, policy};

    #[test]
    fn policies_differ_and_nothing_near_them_is_one() {
        let pairs = PRIMARY.iter().flat_map(|p| SECONDARY.iter().map(move |s| (p, s)));
        let mut all: Vec<u64> = pairs.map(|(p, s)| policy(p, Some(s)).unwrap()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8);
        for &value in &all {
            assert!(is_policy(value));
            let near = (1..4096).flat_map(|d| [value.wrapping_add(d), value.wrapping_sub(d)]);
            let bits = (0..64).map(|bit| value ^ 1 << bit);
            let halves = [value << 32, value >> 32, u64::from(value as u32), !value, value.wrapping_neg()];
            assert!(near.chain(bits).chain(halves).all(|other| !is_policy(other)), "{value:#x}");
            assert!(all.iter().all(|&other| !is_policy(value.wrapping_add(other)) && !is_policy(value ^ other)));
        }
        // Addresses, counts, and what devices are known to use.
        assert!((0..1 << 20).all(|number| !is_policy(number) && !is_policy(number << 12) && !is_policy(number << 44)));
    }

    #[test]
    fn what_is_not_said_stays_unchanged() {
        assert_eq!(policy("L2::evict_last", None), policy("L2::evict_last", Some("L2::evict_unchanged")));
        assert_eq!(policy("L2::evict_last", Some("L2::evict_last")), None);
    }
}
