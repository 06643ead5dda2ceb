//! Lanes that work together: scans, groups, reductions, compaction.

use crate::harness::{Corpus, Random, int, source};

#[test]
fn prefix_sums_of_blocks() {
    const N: usize = 700;
    let values: Vec<i32> = Random::new(31).words(N).iter().map(|w| *w as i32).collect();
    let sums = |block: &[i32]| {
        block
            .iter()
            .scan(0i32, |sum, v| {
                *sum = sum.wrapping_add(*v);
                Some(*sum)
            })
            .collect::<Vec<_>>()
    };
    let want: Vec<i32> = values.chunks(256).flat_map(sums).collect();
    let mut corpus = Corpus::strict(source!("scan"));
    let (from, out) = (corpus.buffer(&values), corpus.room::<i32>(N));
    corpus.run("scan", [3, 1, 1], [256, 1, 1], &[int(from), int(out), int(N as i32)]);
    assert_eq!(corpus.read::<i32>(out, N), want);
}

#[test]
fn lanes_find_those_with_their_key() {
    const N: usize = 150;
    let keys: Vec<u32> = Random::new(32).words(N).iter().map(|w| w % 10).collect();
    let peers = keys.chunks(32).flat_map(|warp| {
        warp.iter().map(move |key| warp.iter().enumerate().fold(0, |m, (l, k)| m | u32::from(k == key) << l))
    });
    let counts: Vec<u32> = (0..10).map(|key| keys.iter().filter(|k| **k == key).count() as u32).collect();
    let mut corpus = Corpus::strict(source!("match"));
    let (from, out, sums) = (corpus.buffer(&keys), corpus.room::<u32>(N), corpus.buffer(&[0u32; 10]));
    corpus.run("groups", [3, 1, 1], [64, 1, 1], &[int(from), int(out), int(sums), int(N as i32)]);
    assert_eq!(corpus.read::<u32>(out, N), peers.collect::<Vec<_>>());
    assert_eq!(corpus.read::<u32>(sums, 10), counts);
}

#[test]
fn reductions_of_warps() {
    const N: usize = 128;
    let mut random = Random::new(33);
    let values: Vec<i32> =
        (0..N).map(|i| if i < 32 { random.word() as i32 } else { (random.word() | 1) as i32 >> (i / 32) }).collect();
    let keys: Vec<u64> =
        (0..N).map(|i| if (32..64).contains(&i) { 5 << 40 } else { random.long() | 1 << 50 }).collect();
    let want = values.chunks(32).zip(keys.chunks(32)).flat_map(|(v, k)| {
        let bits = |f: fn(u32, u32) -> u32| v.iter().map(|x| *x as u32).reduce(f).unwrap() as i32;
        let one = k.iter().all(|key| *key == k[0]);
        let positive = v.iter().filter(|x| **x > 0).count();
        [
            v.iter().fold(0i32, |a, b| a.wrapping_add(*b)),
            *v.iter().min().unwrap(),
            bits(|a, b| a & b),
            bits(|a, b| a ^ b),
            bits(u32::max),
            if one { -1 } else { 0 },
            i32::from(one),
            i32::from(v.iter().any(|x| x & 1 == 1)),
            i32::from(positive == 0 || positive == 32),
        ]
    });
    let mut corpus = Corpus::strict(source!("match"));
    let (p, q, out) = (corpus.buffer(&values), corpus.buffer(&keys), corpus.room::<i32>(9 * N / 32));
    corpus.run("reductions", [2, 1, 1], [64, 1, 1], &[int(p), int(q), int(out)]);
    assert_eq!(corpus.read::<i32>(out, 9 * N / 32), want.collect::<Vec<_>>());
}

#[test]
fn positive_numbers_move_together() {
    const N: usize = 900;
    let values: Vec<i32> = Random::new(34).words(N).iter().map(|w| *w as i32).collect();
    let kept: Vec<Vec<i32>> = values.chunks(32).map(|warp| warp.iter().copied().filter(|v| *v > 0).collect()).collect();
    let total = kept.iter().map(Vec::len).sum();
    let mut corpus = Corpus::strict(source!("compact"));
    let (from, out, count) = (corpus.buffer(&values), corpus.room::<i32>(total), corpus.buffer(&[0i32]));
    corpus.run("compact", [8, 1, 1], [128, 1, 1], &[int(from), int(N as i32), int(out), int(count)]);
    assert_eq!(corpus.read::<i32>(count, 1), [total as i32]);
    // The order of the warps is open; that of the numbers of one warp is not.
    let all = corpus.read::<i32>(out, total);
    for warp in kept.iter().filter(|warp| !warp.is_empty()) {
        let at = all.iter().position(|v| *v == warp[0]).expect("the number is kept");
        assert_eq!(&all[at..at + warp.len()], warp.as_slice());
    }
}
