//! Sums and quotients of floats, every rounding in the order of the source; and one kernel of approximations.

use ptx_machine::Module;

use crate::harness::{Corpus, Random, int, source};

/// The sum that a butterfly of exclusive-or shuffles leaves in every lane.
fn butterfly(lanes: &[f32]) -> f32 {
    let mut values = lanes.to_vec();
    for mask in [16, 8, 4, 2, 1] {
        values = (0..32).map(|l| values[l] + values[l ^ mask]).collect();
    }
    values[0]
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn dot_products() {
    let mut random = Random::new(1);
    let (a, b) = (random.floats(1000), random.floats(1000));
    let threads: Vec<f32> =
        (0..256).map(|t| (t..1000).step_by(256).fold(0.0, |sum: f32, i| a[i].mul_add(b[i], sum))).collect();
    let want = threads.chunks(32).map(butterfly).reduce(|x, y| x + y).unwrap();
    let mut corpus = Corpus::strict(source!("dot"));
    let (x, y, out) = (corpus.buffer(&a), corpus.buffer(&b), corpus.room::<f32>(1));
    corpus.run("dot_f32", [1; 3], [256, 1, 1], &[int(x), int(y), int(1000), int(out)]);
    assert_eq!(bits(&corpus.read(out, 1)), bits(&[want]));

    let (a, b) = (random.words(4 * 300), random.words(4 * 300));
    let bytes =
        |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).map(|b| i32::from(b as i8)).collect::<Vec<_>>();
    let want: i32 = bytes(&a).iter().zip(bytes(&b)).map(|(x, y)| x * y).sum();
    let (x, y, out) = (corpus.buffer(&a), corpus.buffer(&b), corpus.buffer(&[0i32]));
    corpus.run("dot_i8", [3, 1, 1], [64, 1, 1], &[int(x), int(y), int(300), int(out)]);
    assert_eq!(corpus.read::<i32>(out, 1), [want]);
}

#[test]
fn layer_norm() {
    const ROWS: usize = 3;
    const COLUMNS: usize = 200;
    let mut random = Random::new(2);
    let (x, gain, bias) = (random.floats(ROWS * COLUMNS), random.floats(COLUMNS), random.floats(COLUMNS));
    let total = |own: &[f32]| own.chunks(32).map(butterfly).reduce(|a, b| a + b).unwrap();
    let mut want = Vec::new();
    for row in x.chunks(COLUMNS) {
        let mine = |t: usize| (t..COLUMNS).step_by(128);
        let sums: Vec<f32> = (0..128).map(|t| mine(t).fold(0.0, |sum, i| sum + row[i])).collect();
        let mean = total(&sums) / COLUMNS as f32;
        let squares = (0..128).map(|t| mine(t).fold(0.0, |sum: f32, i| (row[i] - mean).mul_add(row[i] - mean, sum)));
        let variance = total(&squares.collect::<Vec<_>>()) / COLUMNS as f32;
        let scale = 1.0 / (variance + 1e-5f32).sqrt();
        want.extend((0..COLUMNS).map(|i| ((row[i] - mean) * scale).mul_add(gain[i], bias[i])));
    }
    let mut corpus = Corpus::strict(source!("layer_norm"));
    let [x, gain, bias] = [&x, &gain, &bias].map(|values| corpus.buffer(values));
    let out = corpus.room::<f32>(ROWS * COLUMNS);
    let epsilon = ptx_machine::Arg::float(f64::from(1e-5f32));
    let args = [int(x), int(gain), int(bias), int(out), int(COLUMNS as i32), epsilon];
    corpus.run("layer_norm", [ROWS as u32, 1, 1], [128, 1, 1], &args);
    assert_eq!(bits(&corpus.read(out, ROWS * COLUMNS)), bits(&want));
}

#[test]
fn tile_sums_behind_asynchronous_copies() {
    let values = Random::new(3).floats(7 * 256);
    let quad = |v: &[f32]| (v[0] + v[1]) + (v[2] + v[3]);
    let want: Vec<f32> = values
        .chunks(256)
        .map(|tile| {
            let threads: Vec<f32> = (0..64).map(|t| quad(&tile[4 * (63 - t)..])).collect();
            butterfly(&threads[..32]) + butterfly(&threads[32..])
        })
        .collect();
    let mut corpus = Corpus::strict(source!("pipeline"));
    let (from, out) = (corpus.buffer(&values), corpus.room::<f32>(7));
    corpus.run("tile_sums", [1; 3], [64, 1, 1], &[int(from), int(out), int(7)]);
    assert_eq!(bits(&corpus.read(out, 7)), bits(&want));
}

#[test]
fn sums_and_products_in_f64() {
    let mut random = Random::new(4);
    let values: Vec<f64> =
        (0..500).map(|_| f64::from(random.float()) * 2f64.powi((random.word() % 60) as i32)).collect();
    let want = (0..32).map(|t| {
        let (mut sum, mut lost) = (0.0, 0.0);
        for &v in values.iter().skip(t).step_by(32) {
            let y: f64 = v - lost;
            let next = sum + y;
            lost = (next - sum) - y;
            sum = next;
        }
        sum.to_bits()
    });
    let mut corpus = Corpus::strict(source!("kahan"));
    let (from, out) = (corpus.buffer(&values), corpus.room::<u64>(32));
    corpus.run("kahan", [1; 3], [32, 1, 1], &[int(from), int(500), int(out)]);
    assert_eq!(corpus.read::<u64>(out, 32), want.collect::<Vec<_>>());

    let (a, b) = values.split_at(250);
    let products = a.iter().zip(b).flat_map(|(x, y)| [(x * y).to_bits(), x.mul_add(*y, -(x * y)).to_bits()]);
    let whole = a
        .iter()
        .zip(b)
        .map(|(x, y)| if x > y { (x / y).floor() as i64 } else { y.abs().sqrt().round_ties_even() as i64 });
    let (p, q) = (corpus.buffer(a), corpus.buffer(b));
    let (out, wholes) = (corpus.room::<u64>(500), corpus.room::<i64>(250));
    corpus.run("products", [4, 1, 1], [64, 1, 1], &[int(p), int(q), int(out), int(wholes), int(250)]);
    assert_eq!(corpus.read::<u64>(out, 500), products.collect::<Vec<_>>());
    assert_eq!(corpus.read::<i64>(wholes, 250), whole.collect::<Vec<_>>());
}

#[test]
fn softmax_is_refused_in_strict_mode_and_bounded_otherwise() {
    const COLUMNS: usize = 150;
    // ex2.approx and div.approx are within 2^-22 and 2^-22.4; log2(e) times an argument of up to 16 is within 2^-19.5.
    const BOUND: f64 = 1e-5;
    let error = Module::parse(source!("softmax").as_bytes(), "softmax.ptx", true).unwrap_err();
    assert!(error.message.contains("refused in strict mode"), "{error}");
    let values: Vec<f32> = Random::new(5).floats(8 * COLUMNS).iter().map(|v| 8.0 * v).collect();
    let mut corpus = Corpus::lax(source!("softmax"));
    let (from, out) = (corpus.buffer(&values), corpus.room::<f32>(8 * COLUMNS));
    let stats = corpus.run("softmax", [4, 1, 1], [32, 2, 1], &[int(from), int(out), int(COLUMNS as i32)]);
    assert!(stats.approximate);
    for (row, got) in values.chunks(COLUMNS).zip(corpus.read::<f32>(out, 8 * COLUMNS).chunks(COLUMNS)) {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let parts: Vec<f64> = row.iter().map(|&v| f64::from(v - top).exp()).collect();
        let sum: f64 = parts.iter().sum();
        for (part, &got) in parts.iter().zip(got) {
            let want = part / sum;
            assert!((f64::from(got) - want).abs() <= BOUND * want, "{got} {want}");
        }
    }
}
