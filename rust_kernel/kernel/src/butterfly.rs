//! Sums over the 32 lanes of a warp, many at once.
//!
//! The contract sums the lanes by the xor tree 16, 8, 4, 2, 1. One sum at a time costs five shuffles and leaves the
//! result in every lane. Here a level that has `count` sums to do splits them: of two sums a lane gives one away and
//! gets its partner's share of the other, so that after the level it carries half as many. The additions are those
//! of the tree, in its order of levels, and addition commutes, so every sum has the tree's bits. With
//! `count = rows * heads`, indexed `row * heads + head`, the rows (a power of two) are split first, then the heads.
//!
//! Which of two sums a lane keeps is a matter of selects, or of the order in which it was given its rows: with row
//! `i ^ own_row` as its i-th, it keeps the lower index of two at every level that splits rows.
//!
//! Shift counts are u32 here: the pinned cuda-oxide cannot fold a constant shift whose operands differ in width.

use cuda_device::{ptx_asm, warp};

use crate::arith::{add, max};
use crate::unroll::unrolled;

/// One sum's share at the level `mask`: lanes without that bit go on with `low`, lanes with it with `high`.
#[inline(always)]
pub fn exchange(low: f32, high: f32, mask: u32, lane: u32) -> f32 {
    let upper = lane & mask != 0;
    let kept = if upper { high } else { low };
    let given = if upper { low } else { high };
    trade(kept, given, mask)
}

/// The same of a lane that knows which of the two it goes on with.
#[inline(always)]
pub fn trade(kept: f32, given: f32, mask: u32) -> f32 {
    // Section 5.1: x(l) = x(l) + x(l xor level).
    add(kept, warp::shuffle_xor_f32(given, mask))
}

/// The levels below 16, in place, for the `N` sums that level 16 left; the results are where [`home`] says. Of the levels
/// the first `ordered` meet the sums in the lane's own order.
#[inline(always)]
pub fn finish<const N: usize>(sums: &mut [f32; N], lane: u32, ordered: usize) {
    let mut count = N;
    unrolled!(level in 0..4, {
        let mask = 8 >> level as u32;
        let pairs = count / 2;
        unrolled!(i in 0..N, {
            if i < pairs && level < ordered {
                sums[i] = trade(sums[i], sums[i + count - pairs], mask);
            } else if i < pairs {
                sums[i] = exchange(sums[i], sums[i + count - pairs], mask, lane);
            } else if i < count - pairs {
                // An odd one out is carried by both halves.
                sums[i] = trade(sums[i], sums[i], mask);
            }
        });
        count -= pairs;
    });
}

/// Which lane carries sum `index` of `count` after all five levels, and in which of its slots. Where several lanes
/// carry it, this is the lowest.
#[inline(always)]
pub fn home(index: usize, count: usize) -> (u32, usize) {
    let mut count = count;
    let mut slot = index;
    let mut lane = 0;
    unrolled!(level in 0..5, {
        let kept = count - count / 2;
        if slot >= kept {
            slot -= kept;
            lane |= 16 >> level as u32;
        }
        count = kept;
    });
    (lane, slot)
}

/// The maximum over the lanes that differ from this one in the row bits only: those of the `ROWS` rows.
#[inline(always)]
pub fn max_over_rows<const ROWS: usize>(x: f32) -> f32 {
    let mut x = x;
    unrolled!(level in 0..5, {
        if (1 << level as u32) < ROWS {
            x = max(x, warp::shuffle_xor_f32(x, 16 >> level as u32));
        }
    });
    x
}

/// Section 5, after the last step: the xor tree `ROWS/2, ..., 2, 1` over the row slots, which are lane bits here.
#[inline(always)]
pub fn sum_over_rows<const ROWS: usize>(x: f32) -> f32 {
    let mut x = x;
    unrolled!(level in 0..5, {
        if (1 << level as u32) < ROWS {
            x = add(x, warp::shuffle_xor_f32(x, 16 >> level as u32));
        }
    });
    x
}

/// The maximum over all lanes, in each. No lane may have NaN; for all other floats the order of [`ordered`] is theirs.
#[inline(always)]
pub fn max_over_warp(x: f32) -> f32 {
    let greatest: i32;
    // SAFETY: the warp is whole, as the default options demand; nothing but registers is touched. (The pinned cuda-oxide
    // has this as a function, but takes it for the one on floats, which needs another architecture, if its text names
    // floats between the last semicolon and this one: hence the copy.)
    unsafe {
        ptx_asm!(
            "mov.b32 %0, %1; redux.sync.max.s32 %0, %0, 0xFFFFFFFF;",
            out("=r") greatest,
            in("r") ordered(x.to_bits().cast_signed()),
        );
    }
    f32::from_bits(ordered(greatest).cast_unsigned())
}

/// From the bits of a float to a whole number in the order of the floats, and back.
#[inline(always)]
fn ordered(bits: i32) -> i32 {
    if bits < 0 { bits ^ i32::MAX } else { bits }
}
