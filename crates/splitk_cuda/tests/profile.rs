//! The profile of a device that is not named.

use splitk_cuda::choose_profile;

#[test]
fn a_device_has_its_own_profile_or_the_generic_one() {
    let rows = [
        (90, 132, "h200"),
        (89, 128, "rtx4090"),
        (121, 48, "gb10"),
        (120, 170, "rtx5090"),
        (80, 108, "a100"),
        (90, 114, "generic"),
        (86, 84, "generic"),
        (80, 64, "generic"),
    ];
    for (arch, sms, name) in rows {
        assert_eq!(choose_profile(arch, sms).name, name);
    }
}
