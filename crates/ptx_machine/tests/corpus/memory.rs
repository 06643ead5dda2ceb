//! Memory of every kind: bins, tiles, pointers without a space, functions with structs.

use crate::harness::{Corpus, Random, int, source};

#[test]
fn a_histogram_of_bytes() {
    const N: usize = 3000;
    let bytes: Vec<u8> = Random::new(41).words(N).iter().map(|w| (w % 200) as u8).collect();
    let mut bins = [0u32; 256];
    for &byte in &bytes {
        bins[usize::from(byte)] += 1;
    }
    let seen: Vec<u32> =
        bins.chunks(32).map(|c| c.iter().enumerate().fold(0, |m, (k, n)| m | u32::from(*n > 0) << k)).collect();
    let mut corpus = Corpus::strict(source!("histogram"));
    let (from, counts, flags) = (corpus.buffer(&bytes), corpus.buffer(&[0u32; 256]), corpus.buffer(&[0u32; 8]));
    corpus.run("histogram", [4, 1, 1], [128, 1, 1], &[int(from), int(N as u32), int(counts), int(flags)]);
    assert_eq!(corpus.read::<u32>(counts, 256), bins);
    assert_eq!(corpus.read::<u32>(flags, 8), seen);
}

#[test]
fn extremes_by_atomics() {
    const N: usize = 500;
    let values: Vec<i32> = Random::new(42).words(N).iter().map(|w| *w as i32).collect();
    let mut corpus = Corpus::strict(source!("histogram"));
    let from = corpus.buffer(&values);
    let [low, high, parity, ring] = [i32::MAX as u32, 0, 0, 0].map(|start| corpus.buffer(&[start]));
    let total = corpus.buffer(&[0u64]);
    let args = [int(from), int(N as i32), int(low), int(high), int(parity), int(ring), int(total)];
    corpus.run("extremes", [8, 1, 1], [64, 1, 1], &args);
    assert_eq!(corpus.read::<i32>(low, 1)[0], *values.iter().min().unwrap());
    assert_eq!(corpus.read::<u32>(high, 1)[0], values.iter().map(|v| *v as u32).max().unwrap());
    assert_eq!(corpus.read::<i32>(parity, 1)[0], values.iter().fold(0, |a, b| a ^ b));
    assert_eq!(corpus.read::<u32>(ring, 1)[0], N as u32 % 10);
    assert_eq!(corpus.read::<i64>(total, 1)[0], values.iter().map(|v| i64::from(*v)).sum::<i64>());
}

#[test]
fn transposes_of_slices() {
    const WIDTH: usize = 70;
    const HEIGHT: usize = 45;
    let words = Random::new(43).words(2 * WIDTH * HEIGHT);
    let at = |z: usize, y: usize, x: usize| words[z * WIDTH * HEIGHT + y * WIDTH + x];
    let want: Vec<u32> = (0..2)
        .flat_map(|z| (0..WIDTH).flat_map(move |x| (0..HEIGHT).map(move |y| (z, y, x))))
        .map(|(z, y, x)| at(z, y, x))
        .collect();
    let mut corpus = Corpus::strict(source!("transpose"));
    let (from, out) = (corpus.buffer(&words), corpus.room::<u32>(words.len()));
    corpus.run("transpose", [3, 2, 2], [32, 8, 1], &[int(from), int(out), int(WIDTH as i32), int(HEIGHT as i32)]);
    assert_eq!(corpus.read::<u32>(out, want.len()), want);
}

#[test]
fn pointers_to_four_spaces() {
    let values = Random::new(44).floats(32);
    let sum = |numbers: &mut dyn Iterator<Item = f32>| numbers.fold(0.0f32, |a, b| a + b).to_bits();
    let want = |block: usize, thread: usize| match (thread + block) & 3 {
        0 => (sum(&mut values[..8].iter().copied()), 1),
        1 => (sum(&mut values[..8].iter().map(|v| v * 2.0)), 2),
        2 => (sum(&mut (0..8).map(|k| k as f32 + 0.5)), 4),
        _ => (sum(&mut (0..8).map(|k| values[(thread + k) & 31])), 8),
    };
    let want: Vec<(u32, u32)> = (0..2).flat_map(|b| (0..32).map(move |t| (b, t))).map(|(b, t)| want(b, t)).collect();
    let mut corpus = Corpus::strict(source!("generic"));
    let (from, out, spaces) = (corpus.buffer(&values), corpus.room::<u32>(64), corpus.room::<u32>(64));
    corpus.run("generic", [2, 1, 1], [32, 1, 1], &[int(from), int(out), int(spaces)]);
    assert_eq!(corpus.read::<u32>(out, 64).into_iter().zip(corpus.read(spaces, 64)).collect::<Vec<_>>(), want);
    // A variable of the module lives as long as its memory.
    corpus.run("generic", [1; 3], [32, 1, 1], &[int(from), int(out), int(spaces)]);
    let visits = corpus.room::<i32>(1);
    corpus.run("read_visits", [1; 3], [1; 3], &[int(visits)]);
    assert_eq!(corpus.read::<i32>(visits, 1), [96]);
}

fn times(a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
    (a.0.mul_add(b.0, -(a.1 * b.1)), a.0.mul_add(b.1, a.1 * b.0))
}

#[test]
fn functions_with_structs_and_arrays() {
    const N: usize = 100;
    assert!(source!("calls").matches("call.uni").count() >= 4, "the corpus shows no calls");
    let x = Random::new(45).floats(N);
    let at = |i: usize| x[i % N];
    let powers = (0..N).flat_map(|i| {
        let z = (at(i), at(i + 1));
        let cube = times(times(z, z), z);
        [cube.0.to_bits(), cube.1.to_bits()]
    });
    let middles = (0..N).map(|i| {
        let mut three = [at(i), at(i + 1), at(i + 2)];
        three.sort_by(f32::total_cmp);
        if i % 3 == 0 { at(i) } else { three[1] }.to_bits()
    });
    let polynomials = (0..N).map(|i| (0..=i % 5).rev().fold(0.0f32, |v, k| v.mul_add(at(i + 7), at(i + k))).to_bits());
    let mut corpus = Corpus::strict(source!("calls"));
    let from = corpus.buffer(&x);
    let [a, b, c] = [2 * N, N, N].map(|count| corpus.room::<u32>(count));
    corpus.run("calls", [2, 1, 1], [64, 1, 1], &[int(from), int(a), int(b), int(c), int(N as i32)]);
    assert_eq!(corpus.read::<u32>(a, 2 * N), powers.collect::<Vec<_>>());
    assert_eq!(corpus.read::<u32>(b, N), middles.collect::<Vec<_>>());
    assert_eq!(corpus.read::<u32>(c, N), polynomials.collect::<Vec<_>>());
}
