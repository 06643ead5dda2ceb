//! Named device profiles: the constants of a device that a split policy may look at.
//!
//! A profile is written down, never measured: a plan read back from a compiled kernel or a driver would change bits from
//! one toolchain to the next.

use std::str::FromStr;

use crate::PlanError;

/// The constants of a device that decide splits and tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceProfile {
    /// Word that cases, receipts and the command line use.
    pub name: &'static str,
    /// Compute capability times ten: 90 for `sm_90`.
    pub arch: u32,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Blocks of the partial kernel that are planned to be resident on one multiprocessor.
    pub blocks_per_sm: u32,
    /// The device, in words.
    pub title: &'static str,
}

/// Every known profile. `generic` stands for a device that has no row of its own: the oldest architecture that is built
/// for, and a middling power of two of multiprocessors, which 1, 2, 4 and 8 KV heads divide evenly.
pub const PROFILES: &[DeviceProfile] = &[
    DeviceProfile { name: "h200", arch: 90, sms: 132, blocks_per_sm: 1, title: "NVIDIA H200" },
    DeviceProfile { name: "rtx4090", arch: 89, sms: 128, blocks_per_sm: 1, title: "NVIDIA GeForce RTX 4090" },
    DeviceProfile { name: "gb10", arch: 121, sms: 48, blocks_per_sm: 1, title: "NVIDIA GB10" },
    DeviceProfile { name: "rtx5090", arch: 120, sms: 170, blocks_per_sm: 1, title: "NVIDIA GeForce RTX 5090" },
    DeviceProfile { name: "a100", arch: 80, sms: 108, blocks_per_sm: 1, title: "NVIDIA A100" },
    DeviceProfile { name: "generic", arch: 80, sms: 64, blocks_per_sm: 1, title: "any device from sm_80 on" },
];

impl DeviceProfile {
    /// Blocks of the partial kernel that are resident on the device at once: one wave.
    pub fn wave(&self) -> u64 {
        u64::from(self.sms) * u64::from(self.blocks_per_sm)
    }
}

impl FromStr for DeviceProfile {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        PROFILES
            .iter()
            .find(|profile| profile.name == name)
            .copied()
            .ok_or_else(|| PlanError::unknown_word("profile", name, PROFILES.iter().map(|profile| profile.name)))
    }
}
