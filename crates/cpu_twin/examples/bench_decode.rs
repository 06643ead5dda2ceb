//! Seconds of a decode with its data in memory, and how much slower the portable path is.
//!
//! `cargo run --release -p cpu_twin --example bench_decode [kv_len [num_q_heads num_kv_heads [f32|f16 [threads]]]]`

use std::error::Error;
use std::time::Instant;

use cpu_twin::{Inputs, KvElements, KvView, Options, Path, QueryView, decode, simd_available};
use half::f16;
use splitk_plan::{Plan, PlanRequest, Storage};

const HEAD_DIM: u32 = 256;
const REPEATS: usize = 5;
/// Keys that the portable path, exact software for every fused multiply-add, is timed over.
const PORTABLE_KV_LEN: u32 = 16_384;

/// K and V as they lie in memory.
enum Kv {
    F32(Vec<f32>, Vec<f32>),
    F16(Vec<f16>, Vec<f16>),
}

/// Numbers in [-1, 1), from a xorshift generator.
fn numbers(count: usize, seed: u64) -> impl Iterator<Item = f32> {
    let mut state = seed;
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}

fn view<'a>(elements: KvElements<'a>, plan: &Plan) -> KvView<'a> {
    let stride_head = plan.head_dim() as usize;
    KvView { elements, rows: plan.kv_len as usize, stride_row: plan.num_kv_heads() as usize * stride_head, stride_head }
}

/// The fastest of `repeats` calls, in seconds.
fn time(q: &[f32], kv: &Kv, request: &PlanRequest, options: &Options, repeats: usize) -> Result<f64, Box<dyn Error>> {
    let plan = Plan::new(request)?;
    let (k, v) = match kv {
        Kv::F32(k, v) => (KvElements::F32(k), KvElements::F32(v)),
        Kv::F16(k, v) => (KvElements::F16(k), KvElements::F16(v)),
    };
    let q = QueryView { elements: q, stride_head: HEAD_DIM as usize };
    let inputs = Inputs { q, k: view(k, &plan), v: view(v, &plan) };
    let mut best = f64::INFINITY;
    for _ in 0..repeats {
        let start = Instant::now();
        let out = decode(&inputs, &plan, options)?;
        best = best.min(start.elapsed().as_secs_f64());
        assert!(out.iter().all(|x| x.is_finite()));
    }
    Ok(best)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u32| arguments.get(at).map_or(Ok(default), |word| word.parse());
    let (kv_len, num_q_heads, num_kv_heads) = (number(0, 262_144)?, number(1, 16)?, number(2, 4)?);
    let storage: Storage = arguments.get(3).map_or("f16", String::as_str).parse()?;
    let threads = number(4, 0)? as usize;
    let request = PlanRequest {
        kv_len,
        num_q_heads,
        num_kv_heads,
        head_dim: HEAD_DIM,
        storage,
        policy: "one-wave".parse()?,
        profile: "h200".parse()?,
    };

    let q: Vec<f32> = numbers((num_q_heads * HEAD_DIM) as usize, 1).collect();
    let count = kv_len as usize * (num_kv_heads * HEAD_DIM) as usize;
    let kv = match storage {
        Storage::F32 => Kv::F32(numbers(count, 2).collect(), numbers(count, 3).collect()),
        Storage::F16 => {
            let halves = |seed| numbers(count, seed).map(f16::from_f32).collect();
            Kv::F16(halves(2), halves(3))
        }
    };

    println!("{}", Plan::new(&request)?.key());
    let bytes = 2.0 * count as f64 * f64::from(storage.bytes());
    if simd_available() {
        let seconds = time(&q, &kv, &request, &Options { threads, path: Path::Simd, ..Options::default() }, REPEATS)?;
        println!("simd      kv_len {kv_len:>7}  {seconds:.4} s  ({:.1} GB/s of K and V)", bytes / seconds / 1e9);
    }
    let short = PlanRequest { kv_len: kv_len.min(PORTABLE_KV_LEN), ..request };
    let portable = time(&q, &kv, &short, &Options { threads, path: Path::Portable, ..Options::default() }, 1)?;
    println!("portable  kv_len {:>7}  {portable:.4} s", short.kv_len);
    if simd_available() {
        let simd = time(&q, &kv, &short, &Options { threads, path: Path::Simd, ..Options::default() }, REPEATS)?;
        println!("simd      kv_len {:>7}  {simd:.4} s", short.kv_len);
        println!("portable / simd: {:.0}", portable / simd);
    }
    Ok(())
}
