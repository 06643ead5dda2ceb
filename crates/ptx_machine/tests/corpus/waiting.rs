//! Threads that wait for others: named barriers, the last block, locks, messages.

use std::collections::HashSet;

use crate::harness::{Corpus, Random, int, source};

#[test]
fn the_last_block_adds_up() {
    let values: Vec<i32> = Random::new(51).words(5000).iter().map(|w| *w as i32).collect();
    let want: i64 = values.iter().map(|v| i64::from(*v)).sum();
    let mut corpus = Corpus::strict(source!("last_block"));
    let (from, parts, done, out) =
        (corpus.buffer(&values), corpus.room::<i64>(7), corpus.buffer(&[0u32]), corpus.room::<i64>(1));
    // The counter is back at zero for the next launch.
    for _ in 0..2 {
        corpus.run("sum_all", [7, 1, 1], [128, 1, 1], &[int(from), int(5000), int(parts), int(done), int(out)]);
        assert_eq!(corpus.read::<i64>(out, 1), [want]);
        assert_eq!(corpus.read::<u32>(done, 1), [0]);
    }
}

#[test]
fn a_producer_and_three_consumers() {
    const ROUNDS: usize = 9;
    let values: Vec<i32> = (0..32 * ROUNDS as i32).map(|i| i * i).collect();
    let mut want = Vec::new();
    for round in 0..ROUNDS {
        for warp in 1..4 {
            want.extend((0..32).map(|lane| 3 * values[32 * round + (lane + warp) % 32]));
        }
    }
    let mut corpus = Corpus::strict(source!("producer"));
    let (from, out) = (corpus.buffer(&values), corpus.room::<i32>(want.len()));
    corpus.run("producer", [1; 3], [128, 1, 1], &[int(from), int(out), int(ROUNDS as i32)]);
    assert_eq!(corpus.read::<i32>(out, want.len()), want);
}

#[test]
fn votes_of_blocks() {
    // The second block is all negative, the third has none; the last warp of each is not full.
    let values: Vec<i32> = (0..300)
        .map(|i| match i / 100 {
            0 => i % 7 - 3,
            1 => -1,
            _ => 1,
        })
        .collect();
    let want = values.chunks(100).flat_map(|block| {
        let count = block.iter().filter(|v| **v < 0).count() as i32;
        [count, i32::from(count == 100), i32::from(count > 0)]
    });
    let mut corpus = Corpus::strict(source!("producer"));
    let (from, out) = (corpus.buffer(&values), corpus.room::<i32>(9));
    corpus.run("block_votes", [3, 1, 1], [100, 1, 1], &[int(from), int(out)]);
    assert_eq!(corpus.read::<i32>(out, 9), want.collect::<Vec<_>>());
}

#[test]
fn loops_of_compare_and_swap() {
    let mut random = Random::new(52);
    let values: Vec<f32> = (0..300).map(|_| random.float().abs()).collect();
    let mut corpus = Corpus::strict(source!("cas"));
    let (from, best) = (corpus.buffer(&values), corpus.buffer(&[0f32]));
    corpus.run("cas_max", [5, 1, 1], [64, 1, 1], &[int(from), int(300), int(best)]);
    assert_eq!(corpus.read::<f32>(best, 1)[0], values.iter().copied().fold(0.0, f32::max));

    // Powers of two, so that no order of the products rounds.
    let factors: Vec<f64> = (0..200).map(|k| if k % 2 == 0 { 4.0 } else { 0.5 }).collect();
    let (from, product) = (corpus.buffer(&factors), corpus.buffer(&[1f64]));
    corpus.run("cas_product", [4, 1, 1], [64, 1, 1], &[int(from), int(200), int(product)]);
    assert_eq!(corpus.read::<f64>(product, 1), [2f64.powi(100)]);
}

#[test]
fn a_list_a_lock_and_flags() {
    const N: usize = 256;
    let mut corpus = Corpus::strict(source!("cas"));
    let (next, head, flags) = (corpus.room::<i32>(N), corpus.buffer(&[-1i32]), corpus.buffer(&[0u16; 8]));
    corpus.run("push", [4, 1, 1], [64, 1, 1], &[int(next), int(head), int(flags)]);
    let links = corpus.read::<i32>(next, N);
    let mut at = corpus.read::<i32>(head, 1)[0];
    let mut seen = HashSet::new();
    while let Ok(i) = usize::try_from(at) {
        assert!(seen.insert(i), "{i} is in the list twice");
        at = links[i];
    }
    assert_eq!(seen.len(), N);
    for (k, flag) in corpus.read::<u16>(flags, 8).into_iter().enumerate() {
        assert!(flag > 0 && (usize::from(flag) - 1) % 8 == k, "flag {k} is {flag}");
    }
    let (lock, value) = (corpus.buffer(&[0i32]), corpus.buffer(&[100i32]));
    corpus.run("locked", [6, 1, 1], [128, 1, 1], &[int(lock), int(value)]);
    assert_eq!((corpus.read::<i32>(value, 1)[0], corpus.read::<i32>(lock, 1)[0]), (124, 0));
}

#[test]
fn messages_counters_and_sums_of_floats() {
    let mut corpus = Corpus::strict(source!("scoped"));
    let (data, flag, out) = (corpus.room::<i32>(64), corpus.buffer(&[0i32]), corpus.room::<i32>(64));
    corpus.run("message", [2, 1, 1], [64, 1, 1], &[int(data), int(flag), int(out)]);
    assert_eq!(corpus.read::<i32>(out, 64), (0..64).map(|t| 7 * t + 1).collect::<Vec<_>>());

    let (block, device, system) = (corpus.room::<u32>(5), corpus.buffer(&[0u64]), corpus.buffer(&[1000i32]));
    corpus.run("counters", [5, 1, 1], [64, 1, 1], &[int(block), int(device), int(system)]);
    assert_eq!(corpus.read::<u32>(block, 5), [2016; 5]);
    assert_eq!((corpus.read::<u64>(device, 1)[0], corpus.read::<i32>(system, 1)[0]), (320, 360));

    let (single, twice, halves) = (corpus.buffer(&[0f32]), corpus.buffer(&[0f64]), corpus.buffer(&[0u32]));
    corpus.run("float_sums", [1; 3], [64, 1, 1], &[int(single), int(twice), int(halves)]);
    assert_eq!((corpus.read::<f32>(single, 1)[0], corpus.read::<f64>(twice, 1)[0]), (2016.0, 32.0));
    // 64 and -64 in f16.
    assert_eq!(corpus.read::<u32>(halves, 1), [0xd400_5400]);
}
