//! The SIMD path and the portable path give the same bits, whatever the input.

mod support;

use cpu_twin::{Options, Path, simd_available};
use half::f16;
use proptest::prelude::*;
use splitk_plan::Storage;
use support::{Call, Random, SMALL, Shape, assert_same, on, same};

/// What the arrays are filled with.
#[derive(Debug, Clone, Copy)]
enum Filling {
    Normal,
    /// Scores of some hundreds: nearly all weights are under the cut-off and maxima move far.
    HugeLogits,
    /// Scores past the largest f32.
    OverflowingLogits,
    /// NaN, infinities, zeros of both signs, denormals and the largest numbers among normal ones.
    Specials,
    /// Every score is -inf.
    AllMinusInfinity,
    /// Only the smallest numbers.
    Denormal,
    /// Zeros of both signs only.
    Zeros,
    /// Any bit pattern at all.
    AnyBits,
}

const FILLINGS: [Filling; 8] = [
    Filling::Normal,
    Filling::HugeLogits,
    Filling::OverflowingLogits,
    Filling::Specials,
    Filling::AllMinusInfinity,
    Filling::Denormal,
    Filling::Zeros,
    Filling::AnyBits,
];

const SPECIALS: [f32; 10] =
    [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1e-45, -6e-8, f32::MIN_POSITIVE, f32::MAX, f32::MIN];

fn scale(array: &mut [f32], factor: f32) {
    for x in array {
        *x *= factor;
    }
}

fn fill(call: &mut Call, filling: Filling, seed: u64) {
    let mut random = Random::new(seed);
    let storage = call.plan.storage();
    let Call { q, k, v, .. } = call;
    match filling {
        Filling::Normal => {}
        Filling::HugeLogits => {
            scale(q, 30.0);
            scale(k, 30.0);
        }
        Filling::OverflowingLogits => {
            scale(q, 1e38);
            scale(k, 100.0);
        }
        Filling::Specials => {
            for (array, one_in) in [(q, 3_000), (k, 4_000), (v, 40)] {
                for x in array {
                    if random.below(one_in) == 0 {
                        *x = SPECIALS[random.below(SPECIALS.len())];
                    }
                }
            }
        }
        Filling::AllMinusInfinity => {
            q.fill(1.0);
            k.fill(f32::NEG_INFINITY);
        }
        Filling::Denormal => {
            // The least f16 is far above the least f32, so the small ones of each are made from bits.
            let smallest = |bits: u32| match storage {
                Storage::F32 => f32::from_bits(bits & 0x8000_03FF),
                Storage::F16 => f16::from_bits((bits >> 16) as u16 & 0x83FF).to_f32(),
            };
            k.iter_mut().chain(v).for_each(|x| *x = smallest(random.bits()));
            q.fill_with(|| f32::from_bits(random.bits() & 0x80FF_FFFF));
        }
        Filling::Zeros => q.iter_mut().chain(k).chain(v).for_each(|x| *x = 0.0_f32.copysign(*x)),
        Filling::AnyBits => q.iter_mut().chain(k).chain(v).for_each(|x| *x = f32::from_bits(random.bits())),
    }
}

#[track_caller]
fn check(shape: Shape, filling: Filling, seed: u64) {
    let mut call = shape.normal(seed);
    fill(&mut call, filling, seed);
    call.poison_tail(f32::NAN);
    let what = format!("{shape:?} {filling:?} seed {seed}");
    let (auto, portable) = (on(Path::Auto), on(Path::Portable));
    let (a, b) = (call.partial(&auto), call.partial(&portable));
    for (a, b) in a.m.iter().zip(&b.m) {
        // Only here a zero of either sign will do.
        assert!(same(*a, *b) || (*a == 0.0 && *b == 0.0), "{what}: m {a:e} against {b:e}");
    }
    assert_same(&format!("{what}: s"), &a.s, &b.s);
    assert_same(&format!("{what}: acc"), &a.acc, &b.acc);
    assert_same(&what, &call.decode(&auto), &call.decode(&portable));
}

#[test]
fn this_processor_compares_two_paths() {
    // On x86-64 a runner without these features would compare the portable path with itself.
    assert_eq!(simd_available(), cfg!(target_arch = "x86_64"));
}

#[test]
fn every_group_size_filling_and_storage() {
    for storage in [Storage::F32, Storage::F16] {
        for group_size in 1..=8 {
            for (seed, filling) in FILLINGS.into_iter().enumerate() {
                let shape = Shape { kv_len: 65, group_size, storage, policy: "chunk:40", tail: 3, ..SMALL };
                check(shape, filling, seed as u64 + 1);
            }
        }
    }
}

#[test]
fn every_tile_and_edge() {
    for storage in [Storage::F32, Storage::F16] {
        for tile in [(8, 4), (8, 8), (12, 4), (12, 8), (1, 8), (5, 2), (3, 1)] {
            for (kv_len, policy) in [
                (1, "one-wave"),
                (5, "one-wave"),
                (37, "chunk:7"),
                (65, "one-wave"),
                (97, "chunk:1"),
                (203, "chunk:7"),
                (203, "chunk:101"),
                (203, "fixed:3"),
                (300, "fixed:1"),
            ] {
                let shape = Shape {
                    kv_len,
                    storage,
                    policy,
                    tile: Some(tile),
                    group_size: 3,
                    num_kv_heads: 2,
                    tail: kv_len as usize % 3,
                };
                check(shape, Filling::Normal, u64::from(kv_len));
                check(shape, Filling::Specials, u64::from(kv_len) + 1);
            }
        }
    }
}

#[test]
fn long_contexts_with_the_tiles_of_the_table() {
    // Lengths in each range of the table that is longer than what the other tests run.
    for (storage, kv_len) in [(Storage::F32, 4_097), (Storage::F16, 4_097), (Storage::F16, 65_537)] {
        let shape = Shape { kv_len, storage, policy: "one-wave", num_kv_heads: 1, group_size: 1, ..SMALL };
        check(shape, Filling::Normal, 9);
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let call = Shape { kv_len: 900, policy: "chunk:50", ..SMALL }.normal(5);
    for path in [Path::Auto, Path::Portable] {
        let run = |threads| call.decode(&Options { threads, ..on(path) });
        let one = run(1);
        for threads in [0, 2, 3] {
            assert_same(&format!("{path}, {threads} threads"), &run(threads), &one);
        }
    }
}

#[test]
fn strides_of_zero_mean_one_row_for_all() {
    let mut call = Shape { kv_len: 70, ..SMALL }.normal(6);
    (call.stride_row, call.stride_head, call.q_stride_head) = (0, 0, 0);
    let (a, b) = (call.decode(&on(Path::Auto)), call.decode(&on(Path::Portable)));
    assert_same("strides of 0", &a, &b);
    assert!(a.chunks(256).all(|row| row == &a[..256]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(120) })]

    #[test]
    fn any_call(
        kv_len in 1_u32..=400,
        group_size in 1_u32..=8,
        num_kv_heads in 1_u32..=3,
        half in any::<bool>(),
        policy in prop::sample::select(vec!["one-wave", "fixed:2", "chunk:5", "chunk:7", "chunk:64", "chunk:129"]),
        tile in (1_u32..=12, prop::sample::select(vec![1_u32, 2, 4, 8])),
        filling in prop::sample::select(FILLINGS.to_vec()),
        seed in 1_u64..1_000_000,
    ) {
        let storage = if half { Storage::F16 } else { Storage::F32 };
        let tile = Some(tile);
        check(Shape { kv_len, group_size, num_kv_heads, storage, policy, tile, tail: 2 }, filling, seed);
    }
}
