//! Properties that every plan has, for every policy, any device and any length.

use std::collections::HashMap;

use proptest::prelude::*;
use splitk_plan::policy::RULES;
use splitk_plan::storage::STORAGES;
use splitk_plan::{
    DeviceProfile, Geometry, MAX_SPLITS, MIN_CHUNK, Plan, PlanRequest, Policy, PolicyChoice, ScratchLayout, Storage,
    TileTable, max_splits,
};

const KV_LEN_END: u32 = 1_048_576;

fn device() -> impl Strategy<Value = DeviceProfile> {
    let arch = prop::sample::select(vec![80, 89, 90, 120, 121]);
    (14_u32..=170, 1_u32..=4, arch).prop_map(|(sms, blocks_per_sm, arch)| DeviceProfile {
        name: "any",
        arch,
        sms,
        blocks_per_sm,
        title: "any device",
    })
}

fn policy() -> impl Strategy<Value = Policy> {
    let argument = prop_oneof![1_u32..=8, 1_u32..=300, 1_u32..=2_000_000];
    (0..RULES.len(), argument).prop_map(|(rule, argument)| {
        let rule = &RULES[rule];
        Policy::new(rule.name, rule.takes_argument.then_some(argument)).expect("a rule takes its own spelling")
    })
}

fn storage() -> impl Strategy<Value = Storage> {
    (0..STORAGES.len()).prop_map(|row| STORAGES[row].0)
}

/// Lengths near the edges that matter, and lengths anywhere.
fn kv_len() -> impl Strategy<Value = u32> {
    prop_oneof![1_u32..=300, 16_300_u32..=16_500, 1_u32..=KV_LEN_END, Just(KV_LEN_END)]
}

fn request() -> impl Strategy<Value = PlanRequest> {
    (kv_len(), 1_u32..=8, 1_u32..=16, storage(), policy(), device()).prop_map(
        |(kv_len, group, num_kv_heads, storage, policy, profile)| PlanRequest {
            kv_len,
            num_q_heads: group * num_kv_heads,
            num_kv_heads,
            head_dim: 256,
            storage,
            policy: policy.into(),
            profile,
        },
    )
}

/// The policy that a request of these tests names.
fn named(choice: PolicyChoice) -> Policy {
    match choice {
        PolicyChoice::Named(policy) => policy,
        PolicyChoice::Table => panic!("these requests name their policy"),
    }
}

fn is_chunk_policy(policy: Policy) -> bool {
    policy.rule().name == "chunk"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_key_is_in_exactly_one_split(request in request()) {
        let Ok(plan) = Plan::new(&request) else {
            // Only a chunk policy can ask for more splits than a grid has.
            prop_assert!(is_chunk_policy(named(request.policy)));
            return Ok(());
        };
        let mut next = 0;
        for split in 0..plan.n_splits {
            let keys = plan.split_range(split).expect("a split of the plan");
            prop_assert_eq!(keys.start, next);
            prop_assert!(keys.end > keys.start, "split {} is empty", split);
            prop_assert!(keys.len() as u32 <= plan.chunk);
            next = keys.end;
        }
        prop_assert_eq!(next, request.kv_len);
        prop_assert!(plan.split_range(plan.n_splits).is_err());
    }

    #[test]
    fn splits_stay_within_the_target(request in request()) {
        let Ok(plan) = Plan::new(&request) else { return Ok(()) };
        prop_assert!((1..=MAX_SPLITS).contains(&plan.n_splits));
        if is_chunk_policy(named(request.policy)) {
            prop_assert_eq!(Some(plan.chunk), named(request.policy).argument());
        } else {
            prop_assert!(plan.chunk >= MIN_CHUNK);
            prop_assert!(plan.n_splits <= plan.s_target.min(request.kv_len.div_ceil(MIN_CHUNK)));
        }
    }

    #[test]
    fn capacity_bounds_every_shorter_call(request in request(), fraction in 0.0_f64..=1.0) {
        let capacity = request.kv_len;
        let Ok(bound) = max_splits(capacity, request.num_kv_heads, named(request.policy), &request.profile) else {
            prop_assert!(is_chunk_policy(named(request.policy)));
            return Ok(());
        };
        let kv_len = 1 + (fraction * f64::from(capacity - 1)) as u32;
        for kv_len in [1, kv_len, capacity] {
            let plan = Plan::new(&PlanRequest { kv_len, ..request }).expect("shorter than a legal capacity");
            prop_assert!(plan.n_splits <= bound, "{} splits at {kv_len}, bound {bound}", plan.n_splits);
        }
    }

    #[test]
    fn scratch_arrays_are_aligned_and_apart(request in request()) {
        let Ok(plan) = Plan::new(&request) else { return Ok(()) };
        let table = TileTable::built_in();
        let layout = ScratchLayout::new(plan.geometry(), request.kv_len, request.policy, &request.profile, &table)
            .expect("a plan exists at the capacity");
        for offset in [layout.part_m_offset, layout.part_s_offset, layout.part_acc_offset] {
            prop_assert_eq!(offset % 16, 0);
        }
        prop_assert!(layout.part_m_offset + layout.part_m_bytes <= layout.part_s_offset);
        prop_assert!(layout.part_s_offset + layout.part_s_bytes <= layout.part_acc_offset);
        prop_assert_eq!(layout.part_acc_offset + layout.part_acc_bytes, layout.total_bytes);
        let pairs = u64::from(plan.num_q_heads()) * u64::from(plan.n_splits);
        prop_assert!(layout.part_m_bytes >= 4 * pairs && layout.part_acc_bytes >= 4 * pairs * 256);
    }

    #[test]
    fn equal_keys_mean_equal_bits(
        base in request(), policies in prop::collection::vec(policy(), 2..6), devices in prop::collection::vec(device(), 2..6)
    ) {
        let mut seen = HashMap::new();
        for &policy in &policies {
            for &profile in &devices {
                let Ok(plan) = Plan::new(&PlanRequest { policy: policy.into(), profile, ..base }) else { continue };
                // The inputs being equal, chunk and tile are all that the arithmetic depends on.
                let decisive = (plan.chunk, plan.n_splits, plan.tile);
                prop_assert_eq!(*seen.entry(plan.key()).or_insert(decisive), decisive);
            }
        }
    }

    #[test]
    fn a_policy_reads_back_what_it_writes(policy in policy()) {
        prop_assert_eq!(policy.to_string().parse::<Policy>(), Ok(policy));
    }

    #[test]
    fn any_word_is_a_policy_or_a_one_line_error(word in any::<String>()) {
        match word.parse::<Policy>() {
            Ok(policy) => prop_assert_eq!(policy.to_string(), word),
            Err(error) => prop_assert_eq!(error.to_string().lines().count(), 1),
        }
    }

    #[test]
    fn lengths_up_to_the_last_u32_do_not_overflow(kv_len in 1_u32.., policy in policy(), profile in device()) {
        let request = PlanRequest {
            kv_len, num_q_heads: 1, num_kv_heads: 1, head_dim: 256, storage: Storage::F32, policy: policy.into(), profile,
        };
        if let Ok(plan) = Plan::new(&request) {
            let last = plan.split_range(plan.n_splits - 1).expect("the last split");
            prop_assert!(last.start < last.end);
            prop_assert_eq!(last.end, kv_len);
        }
    }
}

#[test]
fn every_lane_map_covers_each_dimension_once() {
    for row in TileTable::built_in().rows() {
        let tile = row.tile();
        assert!(tile.rows.is_power_of_two());
        let elements = row.head_dim / 32;
        let mut dims: Vec<u32> = (0..32).flat_map(|lane| (0..elements).map(move |i| tile.dim(lane, i))).collect();
        dims.sort_unstable();
        assert_eq!(dims, (0..row.head_dim).collect::<Vec<_>>());
    }
}

#[test]
fn a_geometry_is_what_it_was_made_from() {
    let geometry = Geometry::new(24, 4, 256, Storage::F16).expect("a supported shape");
    assert_eq!((geometry.group_size(), geometry.elements_per_lane()), (6, 8));
}
