//! Plans worked out by hand from the contract, and the wording of every refusal.

mod common;

use splitk_plan::{DeviceProfile, Plan, PlanError, PlanRequest, Policy, Storage, max_splits, profile::PROFILES};

use common::request;

fn plan(kv_len: u32, policy: &str, profile: &str) -> Plan {
    Plan::new(&request(kv_len, policy, profile)).expect("a plan")
}

#[test]
fn splits_of_the_h200() {
    // (kv_len, policy) -> (s_target, chunk, n_splits)
    let table = [
        (262_144, "one-wave", (33, 7944, 33)),
        (4_096, "one-wave", (33, 125, 33)),
        (4_097, "one-wave", (33, 125, 33)),
        (65, "one-wave", (33, 64, 2)),
        (64, "one-wave", (33, 64, 1)),
        (1, "one-wave", (33, 64, 1)),
        (8_192, "note", (132, 64, 128)),
        (8_192, "three-quarter-wave", (24, 342, 24)),
        (1_000, "fixed:7", (7, 143, 7)),
        (100, "fixed:7", (7, 64, 2)),
        (203, "chunk:7", (29, 7, 29)),
    ];
    for (kv_len, policy, expected) in table {
        let plan = plan(kv_len, policy, "h200");
        assert_eq!((plan.s_target, plan.chunk, plan.n_splits), expected, "{kv_len} {policy}");
    }
}

#[test]
fn names_follow_the_contract() {
    let long = plan(262_144, "one-wave", "h200");
    let (warps, tile) = (long.tile.warps, long.tile.name());
    assert_eq!(tile, format!("w{warps}r{}", long.tile.rows));
    assert_eq!(long.partial_entry(), format!("splitk_partial_f16_g4_d256_{tile}"));
    assert_eq!(long.reduce_entry(), "splitk_reduce_d256");
    assert_eq!(long.naive_entry(), "naive_decode_f16_d256");
    assert_eq!(long.key(), format!("splitk/1|h200|one-wave|chunk=7944|{tile}v8"));
    assert_eq!(long.partial_launch(), ([4, 33, 1], [32 * warps, 1, 1]));
    assert_eq!(long.reduce_launch(), ([16, 8, 1], [256, 1, 1]));
    assert_eq!(long.naive_launch(), ([16, 1, 1], [256, 1, 1]));
    let wide = PlanRequest { num_q_heads: 24, storage: Storage::F32, ..request(4_096, "one-wave", "gb10") };
    let wide = Plan::new(&wide).expect("a plan");
    assert_eq!(wide.partial_entry(), format!("splitk_partial_f32_g6_d256_{}", wide.tile));
    assert_eq!(wide.key(), format!("splitk/1|gb10|one-wave|chunk=342|{}v4", wide.tile));
}

#[test]
fn more_heads_than_blocks_still_make_one_split() {
    let request = PlanRequest { num_q_heads: 500, num_kv_heads: 500, ..request(5_000, "one-wave", "gb10") };
    assert_eq!(Plan::new(&request).expect("a plan").n_splits, 1);
}

#[test]
fn profile_names_are_unique() {
    for profile in PROFILES {
        assert_eq!(profile.name.parse::<DeviceProfile>().as_ref(), Ok(profile));
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, PlanError>, text: &str) {
    assert_eq!(result.expect_err("a refusal").to_string(), text);
}

#[test]
fn refusals_name_field_value_and_what_is_allowed() {
    let base = request(4_096, "one-wave", "h200");
    let with = |change: fn(&mut PlanRequest)| {
        let mut request = base;
        change(&mut request);
        Plan::new(&request)
    };
    refused(with(|r| r.kv_len = 0), "kv_len is 0; allowed: 1 to 4294967295");
    refused(with(|r| r.num_kv_heads = 0), "num_kv_heads is 0; allowed: 1 to 2147483647");
    refused(with(|r| r.num_q_heads = 0), "num_q_heads is 0; allowed: 1 to 2147483647");
    let groups = "allowed: num_kv_heads (4) times a whole number from 1 to 8";
    refused(with(|r| r.num_q_heads = 17), &format!("num_q_heads is 17; {groups}"));
    refused(with(|r| r.num_q_heads = 36), &format!("num_q_heads is 36; {groups}"));
    refused(with(|r| r.num_q_heads = 3), &format!("num_q_heads is 3; {groups}"));
    refused(with(|r| r.head_dim = 128), "head_dim is 128; allowed: 256");
    refused(
        Plan::new(&request(65_536, "chunk:1", "h200")),
        "n_splits is 65536; allowed: 1 to 65535 (a grid's limit; kv_len 65536 in chunks of 1 passes it)",
    );
}

#[test]
fn words_that_are_in_no_registry_are_refused() {
    let policies = "note, one-wave, three-quarter-wave, fixed:N, chunk:N with N from 1 to 4294967295";
    for word in
        ["", "two-waves", "fixed", "fixed:", "fixed:0", "chunk:0", "chunk:+3", "chunk:03", "note:3", "fixed:1:2"]
    {
        refused(word.parse::<Policy>(), &format!("policy is {word:?}; allowed: {policies}"));
    }
    refused("chunk:4294967296".parse::<Policy>(), &format!("policy is \"chunk:4294967296\"; allowed: {policies}"));
    refused(
        "h100".parse::<DeviceProfile>(),
        "profile is \"h100\"; allowed: h200, rtx4090, gb10, rtx5090, a100, generic",
    );
    refused("bf16".parse::<Storage>(), "storage is \"bf16\"; allowed: f32, f16");
    let long = "x".repeat(1_000).parse::<Storage>().expect_err("a refusal").to_string();
    assert!(long.len() < 100, "a long word is cut: {long}");
}

#[test]
fn capacities_are_checked_too() {
    let h200: DeviceProfile = "h200".parse().expect("a profile");
    let policy = |word: &str| word.parse::<Policy>().expect("a policy");
    assert_eq!(max_splits(262_144, 4, policy("one-wave"), &h200), Ok(33));
    assert_eq!(max_splits(130, 4, policy("one-wave"), &h200), Ok(3));
    assert_eq!(max_splits(203, 4, policy("chunk:7"), &h200), Ok(29));
    refused(max_splits(0, 4, policy("note"), &h200), "kv_capacity is 0; allowed: 1 to 4294967295");
    refused(max_splits(9, 0, policy("note"), &h200), "num_kv_heads is 0; allowed: at least 1");
    assert!(max_splits(1_048_576, 4, policy("chunk:15"), &h200).is_err());
}
