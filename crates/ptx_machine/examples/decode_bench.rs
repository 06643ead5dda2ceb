//! Times the machine on a split-K decode step, f16, 16 query heads, 4 KV heads, `head_dim` 256, all checks on, and holds
//! the result against f64.
//!
//!     cargo run --release -p ptx_machine --example decode_bench -- FILE.ptx [kv_len [threads [portable]]]
//!
//! The file is one module that has both kernels, such as `rust_kernel/ptx/sm_90.ptx`. Times are for partial and reduce
//! together, the best of three runs.

use std::error::Error;
use std::time::{Duration, Instant};

use ptx_machine::{AllocOptions, Arg, LaunchConfig, LaunchStats, Memory, Module, Path, launch};

const HEADS: usize = 16;
const KV_HEADS: usize = 4;
const DIM: usize = 256;
/// One block for each of an H200's 132 processors.
const SPLITS: usize = 132 / KV_HEADS;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A number from -1 to 1 that depends on `i` alone.
fn noise(i: usize) -> f32 {
    let mut x = (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// A normal f16 of about the size of `noise(i)`, as bits and as a number.
fn noise_f16(i: usize) -> (u16, f32) {
    let bits = noise(i).to_bits();
    let exponent = (bits >> 23 & 0xff).max(113) - 112;
    let half = (bits >> 16 & 0x8000) | exponent << 10 | bits >> 13 & 0x3ff;
    let wide = (half & 0x8000) << 16 | (exponent + 112) << 23 | (half & 0x3ff) << 13;
    (half as u16, f32::from_bits(wide))
}

struct Inputs {
    q: Vec<f32>,
    /// Bits and values of K and V.
    kv: [Vec<(u16, f32)>; 2],
}

fn inputs(kv_len: usize) -> Inputs {
    let count = kv_len * KV_HEADS * DIM;
    let values = |seed: usize| (0..count).map(|i| noise_f16(i + (seed << 40))).collect();
    Inputs { q: (0..HEADS * DIM).map(noise).collect(), kv: [values(1), values(2)] }
}

/// Attention of one query head in f64.
fn reference(inputs: &Inputs, kv_len: usize, head: usize) -> Vec<f64> {
    let kv_head = head / (HEADS / KV_HEADS);
    let row = |which: usize, j: usize| &inputs.kv[which][(j * KV_HEADS + kv_head) * DIM..][..DIM];
    let q = &inputs.q[head * DIM..][..DIM];
    let dot = |k: &[(u16, f32)]| q.iter().zip(k).map(|(&a, b)| f64::from(a) * f64::from(b.1)).sum::<f64>();
    let scores: Vec<f64> = (0..kv_len).map(|j| dot(row(0, j)) / (DIM as f64).sqrt()).collect();
    let top = scores.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    let out = |d: usize| (0..kv_len).map(|j| weights[j] * f64::from(row(1, j)[d].1)).sum::<f64>() / total;
    (0..DIM).map(out).collect()
}

struct Kernels<'a> {
    module: &'a Module,
    partial: String,
    warps: u32,
    rows: u32,
}

/// The f16 kernel for groups of 4 heads with the most rows a step.
fn find_kernels(module: &Module) -> Outcome<Kernels<'_>> {
    let tile = |name: &str| {
        let tile = name.strip_prefix("splitk_partial_f16_g4_d256_w")?;
        let (warps, rows) = tile.split_once('r')?;
        Some((rows.parse::<u32>().ok()?, warps.parse::<u32>().ok()?))
    };
    let found = module.entries().iter().filter_map(|e| Some((tile(&e.name)?, &e.name))).max();
    let ((rows, warps), name) = found.ok_or("the module has no splitk_partial_f16_g4_d256 entry")?;
    Ok(Kernels { module, partial: name.clone(), warps, rows })
}

fn run(
    kernels: &Kernels<'_>,
    inputs: &Inputs,
    kv_len: usize,
    threads: usize,
    path: Path,
) -> Outcome<(Duration, LaunchStats, Vec<f32>)> {
    let mut memory = Memory::new();
    let q: Vec<u8> = inputs.q.iter().flat_map(|x| x.to_le_bytes()).collect();
    let read_only = AllocOptions { writable: false, ..AllocOptions::default() };
    let q = memory.alloc("q", &q, read_only)?;
    let mut kv = [0; 2];
    for (address, (name, values)) in kv.iter_mut().zip([("k", &inputs.kv[0]), ("v", &inputs.kv[1])]) {
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.0.to_le_bytes()).collect();
        *address = memory.alloc(name, &bytes, read_only)?;
    }
    let chunk = kv_len.div_ceil(SPLITS).max(64);
    let splits = kv_len.div_ceil(chunk);
    let m = memory.alloc_uninit("part_m", HEADS * splits * 4)?;
    let s = memory.alloc_uninit("part_s", HEADS * splits * 4)?;
    let acc = memory.alloc_uninit("part_acc", HEADS * splits * DIM * 4)?;
    let out = memory.alloc_uninit("out", HEADS * DIM * 4)?;
    let ints = |values: &[u64]| values.iter().map(|&v| Arg::int(v.into())).collect::<Vec<_>>();
    let (row, dim) = ((KV_HEADS * DIM) as u64, DIM as u64);
    let counts = [kv_len as u64, chunk as u64, splits as u64];
    let partial = ints(&[&[q, kv[0], kv[1], m, s, acc][..], &counts, &[dim, row, dim, row, dim]].concat());
    let reduce = ints(&[m, s, acc, out, splits as u64, dim]);
    let base = LaunchConfig { threads, path, ..LaunchConfig::new([1; 3], [1; 3]) };
    let start = Instant::now();
    let config = LaunchConfig {
        grid: [KV_HEADS as u32, splits as u32, 1],
        block: [32 * kernels.warps, 1, 1],
        // More than any arm needs; the harness knows each arm's own number.
        dynamic_shared: 200 << 10,
        ..base.clone()
    };
    let mut stats = launch(kernels.module, &kernels.partial, &mut memory, &config, &partial)?;
    let config = LaunchConfig { grid: [HEADS as u32, DIM as u32 / 32, 1], block: [256, 1, 1], ..base };
    let reduced = launch(kernels.module, "splitk_reduce_d256", &mut memory, &config, &reduce)?;
    let elapsed = start.elapsed();
    stats.instructions += reduced.instructions;
    let mut bytes = vec![0; HEADS * DIM * 4];
    memory.read(out, &mut bytes)?;
    let words = bytes.as_chunks::<4>().0;
    Ok((elapsed, stats, words.iter().map(|b| f32::from_le_bytes(*b)).collect()))
}

fn bench() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let file = args.first().ok_or("usage: decode_bench FILE.ptx [kv_len [threads [portable]]]")?;
    let kv_len: usize = args.get(1).map_or(Ok(4096), |s| s.parse())?;
    let threads: usize = args.get(2).map_or(Ok(1), |s| s.parse())?;
    let path = if args.get(3).is_some_and(|s| s == "portable") { Path::Portable } else { Path::Auto };
    let start = Instant::now();
    let module = Module::parse(&std::fs::read(file)?, file, true)?;
    println!("parse: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let kernels = find_kernels(&module)?;
    println!("{}: {} warps, {} rows a step", kernels.partial, kernels.warps, kernels.rows);
    let inputs = inputs(kv_len);
    let mut best: Option<(Duration, LaunchStats, Vec<f32>)> = None;
    for _ in 0..3 {
        let result = run(&kernels, &inputs, kv_len, threads, path)?;
        best = best.into_iter().chain([result]).min_by_key(|r| r.0);
    }
    let (elapsed, stats, out) = best.ok_or("nothing ran")?;
    let seconds = elapsed.as_secs_f64();
    let each = seconds * 1e9 / stats.instructions as f64;
    println!(
        "kv_len {kv_len}, {threads} threads: {seconds:.3} s, {} warp instructions, {each:.0} ns each",
        stats.instructions
    );
    for head in [0, HEADS - 1] {
        let expected = reference(&inputs, kv_len, head);
        let top = expected.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let off = out[head * DIM..].iter().zip(&expected).map(|(&a, b)| (f64::from(a) - b).abs()).fold(0.0, f64::max);
        println!("head {head}: largest error {:.2e} of the largest output", off / top);
    }
    Ok(())
}

fn main() -> std::process::ExitCode {
    match bench() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("decode_bench: {error}");
            std::process::ExitCode::from(2)
        }
    }
}
