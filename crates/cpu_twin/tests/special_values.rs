//! Contract section 7, a row of its table a test, on both paths.

mod support;

use cpu_twin::{Options, PartialsView, Path, reduce};
use splitk_plan::Storage;
use support::{Call, HEAD_DIM, SMALL, Shape, assert_same, on};

const SHAPE: Shape = Shape { storage: Storage::F32, ..SMALL };
const PATHS: [Path; 2] = [Path::Auto, Path::Portable];

/// Runs the call on both paths and hands each output to `check`, a row of 256 a query head.
fn each(call: &Call, check: impl Fn(&[&[f32]])) {
    for path in PATHS {
        let out = call.decode(&on(path));
        check(&out.chunks(HEAD_DIM).collect::<Vec<_>>());
    }
}

fn all_nan(row: &[f32]) -> bool {
    row.iter().all(|x| x.is_nan())
}

fn all_finite(row: &[f32]) -> bool {
    row.iter().all(|x| x.is_finite())
}

#[test]
fn nan_in_a_query_spoils_its_head_only() {
    let mut call = SHAPE.normal(1);
    call.q[3 * call.q_stride_head + 17] = f32::NAN;
    each(&call, |rows| {
        assert!(all_nan(rows[3]));
        assert!(rows.iter().enumerate().all(|(head, row)| head == 3 || all_finite(row)));
    });
}

#[test]
fn nan_in_a_live_key_spoils_its_group_only() {
    let mut call = SHAPE.normal(2);
    let at = call.index(100, 1, 5);
    call.k[at] = f32::NAN;
    each(&call, |rows| {
        assert!(rows[..4].iter().all(|row| all_finite(row)));
        assert!(rows[4..].iter().all(|row| all_nan(row)));
    });
}

#[test]
fn nan_in_a_live_value_spoils_its_dimension_only() {
    let mut call = SHAPE.normal(3);
    let at = call.index(202, 0, 77);
    call.v[at] = f32::NAN;
    each(&call, |rows| {
        for (head, row) in rows.iter().enumerate() {
            assert!(row.iter().enumerate().all(|(dim, x)| x.is_nan() == (head < 4 && dim == 77)));
        }
    });
}

#[test]
fn a_score_of_plus_infinity_gives_nan() {
    let mut call = SHAPE.normal(4);
    let at = call.index(50, 0, 0);
    call.k[at] = f32::INFINITY;
    for head in 0..4 {
        call.q[head * call.q_stride_head] = 1.0;
    }
    each(&call, |rows| {
        assert!(rows[..4].iter().all(|row| all_nan(row)));
        assert!(rows[4..].iter().all(|row| all_finite(row)));
    });
}

#[test]
fn a_score_of_minus_infinity_weighs_nothing() {
    let mut call = SHAPE.normal(5);
    for head in 0..8 {
        call.q[head * call.q_stride_head] = 1.0;
    }
    let clean = call.decode(&on(Path::Auto));
    for key in [0, 36, 37, 150, 202] {
        let at = call.index(key, 0, 0);
        call.k[at] = f32::NEG_INFINITY;
    }
    let one = call.decode(&on(Path::Auto));
    // Removing a key by its V as well changes nothing more.
    for key in [0, 36, 37, 150, 202] {
        let at = call.index(key, 0, 0);
        call.v[at..at + HEAD_DIM].fill(1234.5);
    }
    assert_ne!(one[..4 * HEAD_DIM], clean[..4 * HEAD_DIM]);
    for path in PATHS {
        assert_same("a weight of 0", &call.decode(&on(path)), &one);
    }
}

#[test]
fn only_scores_of_minus_infinity_give_nan() {
    let mut call = SHAPE.normal(6);
    call.q.fill(1.0);
    for key in 0..203 {
        let at = call.index(key, 0, 0);
        call.k[at] = f32::NEG_INFINITY;
    }
    each(&call, |rows| {
        assert!(rows[..4].iter().all(|row| all_nan(row)));
        assert!(rows[4..].iter().all(|row| all_finite(row)));
    });
}

#[test]
fn infinity_in_a_live_value() {
    let mut call = SHAPE.normal(7);
    let [positive, first, second, dead] =
        [call.index(9, 0, 1), call.index(9, 0, 2), call.index(80, 0, 2), call.index(33, 0, 3)];
    call.v[positive] = f32::INFINITY;
    call.v[first] = f32::INFINITY;
    call.v[second] = f32::NEG_INFINITY;
    call.v[dead] = f32::INFINITY;
    // A weight of exactly 0 for key 33: its score lies far below the cut-off, though finite.
    let row = call.index(33, 0, 0);
    call.k[row..row + HEAD_DIM].fill(0.0);
    call.k[row] = -1e6;
    for head in 0..4 {
        call.q[head * call.q_stride_head] = 1.0;
    }
    each(&call, |rows| {
        for row in &rows[..4] {
            assert_eq!(row[1], f32::INFINITY);
            assert!(row[2].is_nan() && row[3].is_nan());
            assert!(all_finite(&row[4..]) && row[0].is_finite());
        }
    });
}

#[test]
fn rows_behind_the_context_are_never_read() {
    for storage in [Storage::F32, Storage::F16] {
        for (kv_len, policy) in [(1, "one-wave"), (5, "one-wave"), (203, "chunk:7"), (203, "chunk:37")] {
            let mut call = Shape { kv_len, policy, storage, tail: 100, ..SMALL }.normal(8);
            let clean = call.decode(&on(Path::Auto));
            for poison in [f32::NAN, f32::INFINITY] {
                call.poison_tail(poison);
                for path in PATHS {
                    assert_same("a poisoned tail", &call.decode(&on(path)), &clean);
                }
            }
        }
    }
}

#[test]
fn one_key_is_returned_as_it_is() {
    for storage in [Storage::F32, Storage::F16] {
        let mut call = Shape { kv_len: 1, storage, num_kv_heads: 1, ..SMALL }.normal(9);
        // Values that f16 holds exactly, denormals of it included.
        for (dim, v) in call.v.iter_mut().enumerate() {
            *v = (dim as f32 - 128.0) / 16_777_216.0;
        }
        each(&call, |rows| {
            for row in rows {
                assert_same("the only row of V", row, &call.v[..HEAD_DIM]);
            }
        });
    }
}

#[test]
fn f32_denormals_are_kept() {
    let mut call = Shape { kv_len: 1, num_kv_heads: 1, ..SHAPE }.normal(10);
    for (dim, v) in call.v.iter_mut().enumerate() {
        *v = f32::from_bits(dim as u32);
    }
    each(&call, |rows| assert_same("denormal values", rows[0], &call.v[..HEAD_DIM]));
}

#[test]
fn negative_zeros_of_v_come_out_positive() {
    // Every accumulator and every merge starts from +0.
    let mut call = Shape { kv_len: 10, num_kv_heads: 1, ..SHAPE }.normal(11);
    call.v.fill(-0.0);
    each(&call, |rows| assert!(rows.iter().flat_map(|row| *row).all(|x| x.to_bits() == 0)));
}

fn reduced(m: &[f32], s: &[f32], acc: &[f32], path: Path) -> Vec<f32> {
    let view = PartialsView { m, s, acc, num_q_heads: 1, n_splits: m.len(), head_dim: acc.len() / m.len() };
    reduce(&view, &Options { path, ..Options::default() }).expect("a result")
}

#[test]
fn empty_splits_contribute_nothing() {
    let live: Vec<f32> = (0..64).map(|x| x as f32 - 20.0).collect();
    for path in PATHS {
        let alone = reduced(&[0.5], &[2.0], &live, path);
        for empty in [f32::NEG_INFINITY, f32::MIN] {
            for (at, n_splits) in [(0, 2), (1, 2), (3, 11), (10, 11)] {
                let (mut m, mut s) = (vec![empty; n_splits], vec![0.0; n_splits]);
                let mut acc = vec![0.0; n_splits * 64];
                (m[at], s[at]) = (0.5, 2.0);
                acc[at * 64..][..64].copy_from_slice(&live);
                assert_same("a split among empty ones", &reduced(&m, &s, &acc, path), &alone);
            }
            assert!(reduced(&[empty; 9], &[0.0; 9], &[0.0; 9 * 32], path).iter().all(|x| x.is_nan()));
        }
    }
}
