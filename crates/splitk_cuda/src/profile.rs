//! Which device profile a device is planned for when the caller names none.

use splitk_plan::DeviceProfile;
use splitk_plan::profile::PROFILES;

/// The profile of devices that have none of their own.
const GENERIC: &str = "generic";

/// The named profile with this architecture (90 for `sm_90`) and number of multiprocessors, or else `generic`.
///
/// A device without a profile of its own runs with `generic`'s splits: right, and comparable to the bit with any other
/// device that does, but not cut to its number of multiprocessors.
///
/// # Panics
/// Never: there is a profile `generic`.
pub fn choose_profile(arch: u32, sms: u32) -> DeviceProfile {
    let own = |profile: &&DeviceProfile| (profile.arch, profile.sms) == (arch, sms) && profile.name != GENERIC;
    let generic = |profile: &&DeviceProfile| profile.name == GENERIC;
    *PROFILES.iter().find(own).or_else(|| PROFILES.iter().find(generic)).expect("there is a profile `generic`")
}
