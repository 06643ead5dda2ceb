//! The planner over its whole range: 14 to 170 multiprocessors, 0 to 1,048,576 keys, every policy.
//!
//! A length is checked in closed form: with `n` splits of `c` keys, `(n - 1) · c < kv_len <= n · c` says that the ranges
//! `[j·c, min(kv_len, (j+1)·c))` are none of them empty and hold every key exactly once. That the plan's ranges are
//! these is checked range by range where it costs little, and at the first, second and last one everywhere.
//!
//! All lengths times all devices would be 10^10 plans. What a policy asks of a device is a number of splits that does
//! not depend on the length. So one test walks every length for a few devices, and one walks every device but only the
//! lengths next to which the plan changes: with a target of `s` splits, the chunk is 64 up to `64·s` keys and grows by
//! one every `s` keys after that.

use std::collections::BTreeSet;

use splitk_plan::policy::RULES;
use splitk_plan::{DeviceProfile, MAX_SPLITS, MIN_CHUNK, Plan, PlanRequest, Policy, PolicyChoice, Storage, max_splits};

const KV_LEN_END: u32 = 1_048_576;
/// Arguments of the policies that take one.
const ARGUMENTS: [u32; 6] = [1, 7, 17, 64, 333, 2_000_000];

fn device(sms: u32) -> DeviceProfile {
    DeviceProfile { name: "any", arch: 90, sms, blocks_per_sm: 1, title: "any device" }
}

fn request(kv_len: u32, num_kv_heads: u32, policy: Policy, profile: DeviceProfile) -> PlanRequest {
    PlanRequest {
        kv_len,
        num_q_heads: num_kv_heads,
        num_kv_heads,
        head_dim: 256,
        storage: Storage::F16,
        policy: policy.into(),
        profile,
    }
}

fn policies() -> Vec<Policy> {
    let made = RULES.iter().flat_map(|rule| {
        let arguments: Vec<Option<u32>> =
            if rule.takes_argument { ARGUMENTS.iter().copied().map(Some).collect() } else { vec![None] };
        arguments.into_iter().map(|argument| Policy::new(rule.name, argument).expect("a rule takes its own spelling"))
    });
    made.collect()
}

fn cuts_keys(policy: Policy) -> bool {
    policy.rule().name == "chunk"
}

/// Section 3 of the contract, written down once more.
fn target(policy: Policy, num_kv_heads: u32, sms: u32) -> u32 {
    let splits = match (policy.rule().name, policy.argument()) {
        ("note", None) => 4 * sms / num_kv_heads,
        ("one-wave", None) => sms / num_kv_heads,
        ("three-quarter-wave", None) => (sms * 3 / 4) / num_kv_heads,
        ("fixed", Some(splits)) => splits,
        (name, argument) => panic!("{name} {argument:?} has no target here: the contract's table has grown"),
    };
    splits.max(1)
}

/// Everything that a plan promises of its splits. `max_splits` is the capacity's bound.
fn check(request: &PlanRequest, max_splits: u32) {
    let &PlanRequest { kv_len, num_kv_heads, policy: PolicyChoice::Named(policy), profile, .. } = request else {
        panic!("these requests name their policy");
    };
    let plan = match Plan::new(request) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(cuts_keys(policy) && kv_len.div_ceil(policy.argument().unwrap_or(1)) > MAX_SPLITS, "{error}");
            return;
        }
    };
    let (chunk, splits) = (plan.chunk, plan.n_splits);
    let what = || format!("{policy}, {} multiprocessors, {num_kv_heads} KV heads, {kv_len} keys", profile.sms);
    assert!((splits - 1) * chunk < kv_len, "an empty split: {}", what());
    assert!(u64::from(kv_len) <= u64::from(splits) * u64::from(chunk), "keys are left over: {}", what());
    assert!((1..=MAX_SPLITS.min(max_splits)).contains(&splits), "{splits} splits: {}", what());
    if cuts_keys(policy) {
        assert_eq!(Some(chunk), policy.argument(), "{}", what());
    } else {
        let target = target(policy, num_kv_heads, profile.sms);
        assert_eq!(chunk, MIN_CHUNK.max(kv_len.div_ceil(target)), "{}", what());
        assert!(splits <= target.min(kv_len.div_ceil(MIN_CHUNK)), "{splits} splits: {}", what());
    }
    for split in [0, 1, splits - 1] {
        let range = plan.split_range(split.min(splits - 1)).expect("a split of the plan");
        let first = split.min(splits - 1) * chunk;
        assert_eq!((range.start, range.end), (first, kv_len.min(first.saturating_add(chunk))), "{}", what());
    }
    assert!(plan.split_range(splits).is_err(), "a split past the last: {}", what());
}

fn bound(num_kv_heads: u32, policy: Policy, profile: &DeviceProfile) -> u32 {
    // A policy that cuts keys may have no plan at the capacity and still have plans below it.
    max_splits(KV_LEN_END, num_kv_heads, policy, profile).unwrap_or(MAX_SPLITS)
}

/// The lengths at which the plan of a target changes, with their neighbours.
fn edges_of_target(target: u32) -> BTreeSet<u32> {
    let target = target.min(KV_LEN_END);
    let grown = (0..=KV_LEN_END / target).map(|chunk| chunk * target);
    let whole = (0..=target.min(KV_LEN_END / MIN_CHUNK)).map(|splits| splits * MIN_CHUNK);
    neighbours(grown.chain(whole))
}

/// The lengths at which a split is added, with their neighbours, up to those that a grid has no room for.
fn edges_of_chunk(chunk: u32) -> BTreeSet<u32> {
    neighbours((0..=(KV_LEN_END / chunk).min(MAX_SPLITS + 1)).map(|splits| splits * chunk))
}

fn neighbours(edges: impl Iterator<Item = u32>) -> BTreeSet<u32> {
    let near = edges.flat_map(|edge| [edge.saturating_sub(1), edge, edge + 1]);
    near.chain([1, KV_LEN_END]).filter(|kv_len| (1..=KV_LEN_END).contains(kv_len)).collect()
}

#[test]
fn every_length_on_a_few_devices() {
    for policy in policies().into_iter().filter(|policy| policy.argument().is_none_or(|n| n == 7 || n == 333)) {
        // The target of a policy with an argument depends on no device.
        let sms: &[u32] = if policy.argument().is_some() { &[132] } else { &[14, 48, 84, 132, 170] };
        for &sms in sms {
            let profile = device(sms);
            let bound = bound(4, policy, &profile);
            for kv_len in 1..=KV_LEN_END {
                check(&request(kv_len, 4, policy, profile), bound);
            }
        }
    }
}

#[test]
fn every_device_at_every_edge() {
    let mut walked = BTreeSet::new();
    for policy in policies() {
        for sms in 14..=170 {
            for num_kv_heads in [1, 2, 3, 4, 8, 16, 200] {
                let profile = device(sms);
                let bound = bound(num_kv_heads, policy, &profile);
                // What decides the splits besides the length; its edges are walked once, the ends of the range always.
                let grain = policy.argument().unwrap_or_else(|| target(policy, num_kv_heads, sms));
                let lengths = match (walked.insert((cuts_keys(policy), grain)), cuts_keys(policy)) {
                    (false, _) => BTreeSet::from([1, 65, KV_LEN_END]),
                    (true, true) => edges_of_chunk(grain),
                    (true, false) => edges_of_target(grain),
                };
                for kv_len in lengths {
                    check(&request(kv_len, num_kv_heads, policy, profile), bound);
                }
            }
        }
    }
}

#[test]
fn every_range_follows_the_one_before() {
    for policy in policies() {
        for kv_len in (1..=300).chain([4_096, 4_097, 16_384, 16_385, 60_000, KV_LEN_END]) {
            let Ok(plan) = Plan::new(&request(kv_len, 4, policy, device(132))) else { continue };
            let mut next = 0;
            for split in 0..plan.n_splits {
                let keys = plan.split_range(split).expect("a split of the plan");
                assert!(keys.start == next && keys.end > keys.start, "{policy}, {kv_len} keys, split {split}");
                next = keys.end;
            }
            assert_eq!(next, kv_len, "{policy}");
        }
    }
}

#[test]
fn no_keys_are_refused() {
    for policy in policies() {
        for sms in 14..=170 {
            let error = Plan::new(&request(0, 4, policy, device(sms))).expect_err("a refusal").to_string();
            assert_eq!(error, "kv_len is 0; allowed: 1 to 4294967295");
        }
    }
}
