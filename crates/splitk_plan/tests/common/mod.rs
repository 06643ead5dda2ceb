//! What several of the tests start from.

use splitk_plan::{PlanRequest, Storage};

/// 16 query heads over 4 KV heads of 256 elements, in f16.
pub fn request(kv_len: u32, policy: &str, profile: &str) -> PlanRequest {
    PlanRequest {
        kv_len,
        num_q_heads: 16,
        num_kv_heads: 4,
        head_dim: 256,
        storage: Storage::F16,
        policy: policy.parse().expect("a policy"),
        profile: profile.parse().expect("a profile"),
    }
}
