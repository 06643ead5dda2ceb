//! The twin is right, not only in agreement with itself: a plain softmax in f64 that shares nothing with it.

mod support;

use cpu_twin::{Options, Path};
use splitk_plan::Storage;
use support::{Call, HEAD_DIM, Kv, SMALL, Shape, on};

/// Attention of one query head: all scores, their softmax, and the weighted sum, in f64.
fn attention(call: &Call, k: &Kv, v: &Kv, head: usize) -> Vec<f64> {
    let kv_head = head / call.plan.group_size() as usize;
    let query = &call.q[head * call.q_stride_head..][..HEAD_DIM];
    let keys = 0..call.plan.kv_len as usize;
    let score = |key| {
        let product = |dim| f64::from(query[dim]) * f64::from(k.at(call.index(key, kv_head, dim)));
        (0..HEAD_DIM).map(product).sum::<f64>() / (HEAD_DIM as f64).sqrt()
    };
    let scores: Vec<f64> = keys.clone().map(score).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut out = vec![0.0; HEAD_DIM];
    for key in keys {
        for (dim, out) in out.iter_mut().enumerate() {
            *out += weights[key] / sum * f64::from(v.at(call.index(key, kv_head, dim)));
        }
    }
    out
}

#[track_caller]
fn check(shape: Shape, seed: u64, options: &Options) {
    let call = shape.normal(seed);
    let out = call.decode(options);
    let (k, v) = (Kv::new(&call.k, shape.storage), Kv::new(&call.v, shape.storage));
    for (head, row) in out.chunks(HEAD_DIM).enumerate() {
        let expected = attention(&call, &k, &v, head);
        let largest = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        for (dim, (x, expected)) in row.iter().zip(&expected).enumerate() {
            let error = (f64::from(*x) - expected).abs() / largest;
            assert!(error <= 1e-6, "{shape:?} head {head} dim {dim}: {x:e} against {expected:e}, error {error:e}");
        }
    }
}

#[test]
fn both_paths_are_within_a_millionth_of_the_largest_output() {
    for storage in [Storage::F32, Storage::F16] {
        for kv_len in [1, 5, 64, 65, 203, 1_500] {
            for group_size in [1, 3, 4, 8] {
                let shape = Shape { kv_len, group_size, storage, policy: "one-wave", ..SMALL };
                check(shape, u64::from(kv_len), &on(Path::Auto));
            }
            let shape = Shape { kv_len, storage, policy: "chunk:7", num_kv_heads: 3, ..SMALL };
            check(shape, u64::from(kv_len), &on(Path::Portable));
        }
    }
}

#[test]
fn a_long_context_is_too() {
    let shape = Shape { kv_len: 20_000, policy: "one-wave", num_kv_heads: 1, ..SMALL };
    check(shape, 3, &on(Path::Auto));
}
