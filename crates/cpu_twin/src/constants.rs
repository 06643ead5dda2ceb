//! The constants of contract section 4, by their bits, and the start of every running maximum.

/// `log2(e)`.
pub(crate) const LOG2E: f32 = f32::from_bits(0x3FB8_AA3B);
/// `1.5 · 2^23`: adding it rounds to a whole number and leaves that number in the low bits.
pub(crate) const MAGIC: f32 = f32::from_bits(0x4B40_0000);
/// `-(ln 2, rounded to f32)`.
pub(crate) const MINUS_LN2_HI: f32 = f32::from_bits(0xBF31_7218);
/// `-(ln 2 - LN2_HI)`.
pub(crate) const MINUS_LN2_LO: f32 = f32::from_bits(0x3102_E308);
/// `C6` down to `C2`, in the order of the Horner scheme; two coefficients of exactly 1 follow.
pub(crate) const COEFFICIENTS: [f32; 5] = [
    f32::from_bits(0x3AB5_1E84),
    f32::from_bits(0x3C09_1C2B),
    f32::from_bits(0x3D2A_AC5F),
    f32::from_bits(0x3E2A_AA4A),
    f32::from_bits(0x3EFF_FFFE),
];
/// Below it the exponential is exactly +0.
pub(crate) const CUT_OFF: f32 = f32::from_bits(0xC2AE_0000);
/// Where every running maximum starts: the lowest finite number.
pub(crate) const LOWEST: f32 = f32::from_bits(0xFF7F_FFFF);

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// Classes of splits in the reduce kernel.
pub(crate) const CLASSES: usize = 8;
/// Most rows a warp step.
pub(crate) const MAX_ROWS: usize = 8;
