//! Plans a decode step, launches the Rust kernels on the first CUDA device, and compares the result with the CPU twin, bit
//! for bit. No Python takes part.
//!
//! ```text
//! cargo run --release -p splitk_cuda --example decode -- [KV_LEN] [NUM_Q_HEADS] [NUM_KV_HEADS] [f16|f32]
//! ```
//!
//! Exit code 0: the same bits; 1: others; 2: bad arguments, or no device that the kernels run on.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use cpu_twin::{Inputs, KvElements, KvView, Options, QueryView};
use half::f16;
use splitk_cuda::{ArrayView, Call, Config, Context, DeviceBuffer, PtxSet, SplitKDecode};
use splitk_plan::{Geometry, Storage};

const HEAD_DIM: u32 = 256;
const USAGE: &str = "decode [KV_LEN] [NUM_Q_HEADS] [NUM_KV_HEADS] [f16|f32]";

/// K or V on the host.
enum Elements {
    F32(Vec<f32>),
    F16(Vec<f16>),
}

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("decode: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns how many of the outputs differ from the twin's.
fn run() -> Result<usize, Box<dyn Error>> {
    let (geometry, kv_len) = arguments()?;
    let context = Arc::new(Context::primary(0)?);
    context.make_current()?;
    let decode = SplitKDecode::new(&context, PtxSet::embedded()?, &Config::new(geometry, kv_len))?;
    if let Some(line) = decode.fallback() {
        eprintln!("decode: {line}");
    }
    let plan = decode.plan(kv_len)?;
    println!("device {}: {}, PTX of {}", context.device(), plan.key(), decode.target());

    let rows = kv_len as usize * (geometry.num_kv_heads() * HEAD_DIM) as usize;
    let q = numbers(1, (geometry.num_q_heads() * HEAD_DIM) as usize);
    let (k, v) = (Elements::new(2, rows, geometry.storage()), Elements::new(3, rows, geometry.storage()));
    let got = on_device(&decode, kv_len, &q, &k, &v)?;

    let stride_row = (geometry.num_kv_heads() * HEAD_DIM) as usize;
    let view = |elements| KvView { elements, rows: kv_len as usize, stride_row, stride_head: HEAD_DIM as usize };
    let query = QueryView { elements: &q, stride_head: HEAD_DIM as usize };
    let inputs = Inputs { q: query, k: view(k.as_twin()), v: view(v.as_twin()) };
    let wanted = cpu_twin::decode(&inputs, &plan, &Options::default())?;

    let different = got.iter().zip(&wanted).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    println!("{different} of {} values differ from the twin's", wanted.len());
    Ok(different)
}

fn arguments() -> Result<(Geometry, u32), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.len() > 4 {
        return Err(USAGE.into());
    }
    let number = |index: usize, default: u32| -> Result<u32, Box<dyn Error>> {
        words.get(index).map_or(Ok(default), |word| {
            word.parse().map_err(|_| format!("{word:?} is no whole number; usage: {USAGE}").into())
        })
    };
    let storage = words.get(3).map_or(Ok(Storage::F16), |word| word.parse())?;
    Ok((Geometry::new(number(1, 16)?, number(2, 4)?, HEAD_DIM, storage)?, number(0, 4097)?))
}

/// Runs the step on the device and reads its result back.
fn on_device(
    decode: &SplitKDecode,
    kv_len: u32,
    q: &[f32],
    k: &Elements,
    v: &Elements,
) -> Result<Vec<f32>, splitk_cuda::Error> {
    let geometry = &decode.config().geometry;
    let buffers = [bytes_of(q), k.bytes(), v.bytes()].map(|bytes| filled(decode.context(), &bytes));
    let [q_buffer, k_buffer, v_buffer] = buffers;
    let (q_buffer, k_buffer, v_buffer) = (q_buffer?, k_buffer?, v_buffer?);
    let mut out = vec![0_u8; size_of_val(q)];
    let out_buffer = DeviceBuffer::new(decode.context(), out.len() as u64)?;

    let q_shape = [u64::from(geometry.num_q_heads()), u64::from(HEAD_DIM)];
    let kv_shape = [u64::from(kv_len), u64::from(geometry.num_kv_heads()), u64::from(HEAD_DIM)];
    let kv = |buffer: &DeviceBuffer| ArrayView::dense(buffer.address(), &kv_shape, geometry.storage());
    let call = Call {
        q: &ArrayView::dense(q_buffer.address(), &q_shape, Storage::F32),
        k: &kv(&k_buffer),
        v: &kv(&v_buffer),
        out: &ArrayView::dense(out_buffer.address(), &q_shape, Storage::F32),
        kv_len,
        stream: 0,
    };
    // SAFETY: the buffers are as large as the views say and live until the result was read, which waits for the default
    // stream; nothing else uses them.
    unsafe { decode.launch(&call)? };
    out_buffer.read(&mut out)?;
    Ok(out.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
}

fn filled(context: &Arc<Context>, bytes: &[u8]) -> Result<DeviceBuffer, splitk_cuda::Error> {
    let buffer = DeviceBuffer::new(context, bytes.len() as u64)?;
    buffer.write(bytes)?;
    Ok(buffer)
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

impl Elements {
    fn new(seed: u64, count: usize, storage: Storage) -> Self {
        let values = numbers(seed, count);
        match storage {
            Storage::F32 => Self::F32(values),
            Storage::F16 => Self::F16(values.into_iter().map(f16::from_f32).collect()),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(values) => bytes_of(values),
            Self::F16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }

    fn as_twin(&self) -> KvElements<'_> {
        match self {
            Self::F32(values) => KvElements::F32(values),
            Self::F16(values) => KvElements::F16(values),
        }
    }
}

/// Numbers between -2 and 2, the same each time: the top 24 bits of a linear congruential generator (Knuth's MMIX).
fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 22) as f32 - 2.0
    };
    std::iter::repeat_with(next).take(count).collect()
}
