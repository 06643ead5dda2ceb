//! How K and V are stored, and what a lane loads of a row.

use cuda_device::convert;

use crate::memory::{load_8, load_8_if, load_16, load_16_if};
use crate::unroll::unrolled;

/// A storage type of K and V. Everything but the width of an element and its exact widening to f32 is shared:
/// another type is one more implementation here and one more line for each of its entries in `lib.rs`.
pub trait Storage {
    /// The word for it in entry names.
    const NAME: &'static str;

    /// Bytes of an element.
    const BYTES: usize;

    /// Element `i` of a lane's packed words, widened to f32. Exact for every value: there is no rounding here.
    fn widen<const WORDS: usize>(words: &[u32; WORDS], i: usize) -> f32;
}

/// IEEE single.
pub struct F32;

impl Storage for F32 {
    const NAME: &'static str = "f32";
    const BYTES: usize = 4;

    #[inline(always)]
    fn widen<const WORDS: usize>(words: &[u32; WORDS], i: usize) -> f32 {
        f32::from_bits(words[i])
    }
}

/// IEEE half, two to a word, the first in the low half.
pub struct F16;

impl Storage for F16 {
    const NAME: &'static str = "f16";
    const BYTES: usize = 2;

    #[inline(always)]
    fn widen<const WORDS: usize>(words: &[u32; WORDS], i: usize) -> f32 {
        if i.is_multiple_of(2) {
            convert::cvt_f32_f16x2_lo(words[i / 2])
        } else {
            convert::cvt_f32_f16x2_hi(words[i / 2])
        }
    }
}

/// Bytes from one vector of a lane to its next: the other lanes' 16-byte vectors lie between (lane map, section 3).
pub const VECTOR_STRIDE: usize = 32 * 16;

/// The `WORDS` words that this lane holds of one row, `first` being the address of its first vector. If `MASKED`, the
/// row may be one that is not `live`: then nothing is read and the words are zeros, +0 in every storage type.
///
/// # Safety
/// If the row is live or not `MASKED`, all its vectors are readable, aligned to their size, and written by no one while
/// the kernel runs.
#[inline(always)]
pub unsafe fn load_lane<const WORDS: usize, const MASKED: bool>(first: *const u8, live: bool) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    if const { WORDS == 2 } {
        // SAFETY: this function's own contract, for a single vector of 8 bytes.
        let [a, b] = unsafe { if MASKED { load_8_if(live, first) } else { load_8(first) } };
        words[0] = a;
        words[1] = b;
    } else {
        unrolled!(i in 0..WORDS / 4, {
            let at = first.wrapping_add(i * VECTOR_STRIDE);
            // SAFETY: this function's own contract, for the i-th of WORDS / 4 vectors of 16 bytes.
            let [a, b, c, d] = unsafe { if MASKED { load_16_if(live, at) } else { load_16(at) } };
            words[4 * i] = a;
            words[4 * i + 1] = b;
            words[4 * i + 2] = c;
            words[4 * i + 3] = d;
        });
    }
    words
}
