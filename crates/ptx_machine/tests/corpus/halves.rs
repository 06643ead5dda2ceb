//! f16 and bf16, two in a register.

use crate::harness::{Corpus, Random, int, source};

/// The value of an f16 or bf16 by the bits of its fraction.
fn value(bits: u16, fraction: u32) -> f64 {
    let bias = (1 << (14 - fraction)) - 1;
    let mantissa = f64::from(bits & ((1 << fraction) - 1));
    let exponent = i32::from(bits >> fraction & ((1 << (15 - fraction)) - 1));
    let scale = 2f64.powi(exponent.max(1) - bias - fraction as i32);
    let leading = if exponent > 0 { f64::from(1u32 << fraction) } else { 0.0 };
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    sign * (leading + mantissa) * scale
}

/// The nearest one, for numbers well within the range.
fn rounded(x: f64, fraction: u32) -> u16 {
    let bias = (1 << (14 - fraction)) - 1;
    if x == 0.0 {
        return if x.is_sign_negative() { 0x8000 } else { 0 };
    }
    let exponent = (x.abs().log2().floor() as i32).max(1 - bias);
    let units = (x.abs() / 2f64.powi(exponent - fraction as i32)).round_ties_even() as u32;
    let bits = (((exponent + bias - 1) as u32) << fraction) + units;
    bits as u16 | if x < 0.0 { 0x8000 } else { 0 }
}

fn halves(words: &[u32]) -> Vec<u16> {
    words.iter().flat_map(|w| [*w as u16, (*w >> 16) as u16]).collect()
}

fn words(halves: &[u16]) -> Vec<u32> {
    halves.chunks(2).map(|h| u32::from(h[0]) | u32::from(h[1]) << 16).collect()
}

/// Numbers from -4 to 4 in the format.
fn numbers(random: &mut Random, count: usize, fraction: u32) -> Vec<u16> {
    (0..count).map(|_| rounded(f64::from(4.0 * random.float()), fraction)).collect()
}

fn axpy(entry: &str, a: f64, fraction: u32, relu: bool) {
    let mut random = Random::new(11);
    let (x, y) = (numbers(&mut random, 400, fraction), numbers(&mut random, 400, fraction));
    let want = x.iter().zip(&y).map(|(&x, &y)| {
        let sum = a * value(x, fraction) + value(y, fraction);
        rounded(if relu { sum.max(0.0) } else { sum }, fraction)
    });
    let mut corpus = Corpus::strict(source!("axpy16"));
    let (p, q) = (corpus.buffer(&words(&x)), corpus.buffer(&words(&y)));
    let scale = ptx_machine::Arg::bytes(rounded(a, fraction).to_le_bytes().to_vec());
    corpus.run(entry, [4, 1, 1], [64, 1, 1], &[int(p), int(q), scale, int(200)]);
    assert_eq!(halves(&corpus.read::<u32>(q, 200)), want.collect::<Vec<_>>());
}

#[test]
fn axpy_rounds_once() {
    axpy("axpy_f16", 1.375, 10, false);
    axpy("axpy_bf16", -1.25, 7, true);
}

#[test]
fn halves_are_compared_each_by_itself() {
    let mut random = Random::new(12);
    let x = numbers(&mut random, 200, 10);
    let y: Vec<u16> = x
        .iter()
        .map(|&h| match random.word() % 3 {
            0 => h,
            1 => h ^ 1,
            _ => h ^ 0x8000,
        })
        .collect();
    let pairs = || x.iter().zip(&y).map(|(&x, &y)| (value(x, 10), value(y, 10), x, y));
    let high: Vec<u16> = pairs().map(|(a, b, x, y)| if a > b { x } else { y }).collect();
    let same: Vec<u16> = pairs().map(|(a, b, ..)| if a == b { 0x3c00 } else { 0 }).collect();
    let below: Vec<u16> = pairs().map(|(a, b, ..)| if a < b { 0xffff } else { 0 }).collect();
    let mut corpus = Corpus::strict(source!("axpy16"));
    let (p, q) = (corpus.buffer(&words(&x)), corpus.buffer(&words(&y)));
    let [a, b, c] = [(); 3].map(|()| corpus.room::<u32>(100));
    corpus.run("compare_f16", [2, 1, 1], [64, 1, 1], &[int(p), int(q), int(a), int(b), int(c), int(100)]);
    for (at, want) in [(a, high), (b, same), (c, below)] {
        assert_eq!(halves(&corpus.read::<u32>(at, 100)), want);
    }
}

#[test]
fn a_matrix_of_f16_times_a_vector() {
    const ROWS: usize = 5;
    const COLUMNS: usize = 24 * 32;
    let mut random = Random::new(13);
    let matrix = numbers(&mut random, ROWS * COLUMNS, 10);
    let x = random.floats(COLUMNS);
    let want: Vec<u32> = matrix
        .chunks(COLUMNS)
        .map(|row| {
            let lane = |lane: usize| {
                let chunks = (lane..COLUMNS / 8).step_by(32).flat_map(|c| 8 * c..8 * c + 8);
                chunks.fold(0.0, |sum: f32, i| (value(row[i], 10) as f32).mul_add(x[i], sum))
            };
            let mut sums: Vec<f32> = (0..32).map(lane).collect();
            for mask in [16, 8, 4, 2, 1] {
                sums = (0..32).map(|l| sums[l] + sums[l ^ mask]).collect();
            }
            sums[0].to_bits()
        })
        .collect();
    let mut corpus = Corpus::strict(source!("gemv"));
    let (a, b, out) = (corpus.buffer(&words(&matrix)), corpus.buffer(&x), corpus.room::<u32>(ROWS));
    let args = [int(a), int(b), int(out), int(ROWS as i32), int(COLUMNS as i32)];
    corpus.run("gemv", [2, 1, 1], [128, 1, 1], &args);
    assert_eq!(corpus.read::<u32>(out, ROWS), want);
}
