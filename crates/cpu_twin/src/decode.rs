//! The calls of this crate: checks first, then blocks over threads.

use rayon::prelude::*;
use splitk_plan::Plan;

use crate::block::{Block, HeadPartial, Rows};
use crate::options::{Engine, Options};
use crate::view::{Inputs, KvElements, KvView, check};
use crate::{TwinError, portable, simd};

/// An element type of K and V that both implementations read.
pub(crate) trait Stored: portable::Widen + simd::Lanes {}
impl Stored for f32 {}
impl Stored for half::f16 {}

/// What the partial kernel leaves in its scratch: dense, not normalised.
#[derive(Debug, Clone, PartialEq)]
pub struct Partials {
    /// Maxima, `[num_q_heads, n_splits]`.
    pub m: Vec<f32>,
    /// Sums of weights, `[num_q_heads, n_splits]`.
    pub s: Vec<f32>,
    /// Weighted sums of values, `[num_q_heads, n_splits, head_dim]`.
    pub acc: Vec<f32>,
}

/// What the reduce kernel reads: dense.
#[derive(Debug, Clone, Copy)]
pub struct PartialsView<'a> {
    /// Maxima, `[num_q_heads, n_splits]`.
    pub m: &'a [f32],
    /// Sums of weights, `[num_q_heads, n_splits]`.
    pub s: &'a [f32],
    /// Weighted sums of values, `[num_q_heads, n_splits, head_dim]`.
    pub acc: &'a [f32],
    /// Query heads.
    pub num_q_heads: usize,
    /// Splits of the call.
    pub n_splits: usize,
    /// Elements of a head, a multiple of 32.
    pub head_dim: usize,
}

impl Partials {
    /// A view with the shape of `plan`, to hand to [`reduce`].
    pub fn view(&self, plan: &Plan) -> PartialsView<'_> {
        PartialsView {
            m: &self.m,
            s: &self.s,
            acc: &self.acc,
            num_q_heads: plan.num_q_heads() as usize,
            n_splits: plan.n_splits as usize,
            head_dim: plan.head_dim() as usize,
        }
    }
}

/// Attention of one position, `[num_q_heads, head_dim]` dense: [`partial`], then [`reduce`].
///
/// # Errors
/// As these two.
pub fn decode(inputs: &Inputs<'_>, plan: &Plan, options: &Options) -> Result<Vec<f32>, TwinError> {
    check(inputs, plan)?;
    let engine = options.engine()?;
    options.run(|| {
        let partials = run_partial(inputs, plan, engine);
        run_reduce(&partials.view(plan), engine)
    })
}

/// The partial kernel over its whole grid: section 5 of the contract.
///
/// # Errors
/// When the storage, a shape, stride, address or length does not fit the plan, the path is not to be had, or a thread
/// flushes denormals to zero.
pub fn partial(inputs: &Inputs<'_>, plan: &Plan, options: &Options) -> Result<Partials, TwinError> {
    check(inputs, plan)?;
    let engine = options.engine()?;
    options.run(|| run_partial(inputs, plan, engine))
}

/// The reduce kernel over its whole grid: section 6 of the contract. Returns `[num_q_heads, head_dim]`, dense.
///
/// # Errors
/// When a length does not fit the shape, the path is not to be had, or a thread flushes denormals to zero.
pub fn reduce(partials: &PartialsView<'_>, options: &Options) -> Result<Vec<f32>, TwinError> {
    let &PartialsView { m, s, acc, num_q_heads, n_splits, head_dim } = partials;
    if n_splits == 0 {
        return Err(TwinError::new("n_splits", n_splits, "at least 1"));
    }
    if head_dim == 0 || head_dim % crate::constants::LANES != 0 {
        return Err(TwinError::new("head_dim", head_dim, "multiples of 32"));
    }
    let pairs = num_q_heads.checked_mul(n_splits);
    for (field, len, expected) in [
        ("part_m", m.len(), pairs),
        ("part_s", s.len(), pairs),
        ("part_acc", acc.len(), pairs.and_then(|pairs| pairs.checked_mul(head_dim))),
    ] {
        if Some(len) != expected {
            let shape = format!("num_q_heads {num_q_heads}, n_splits {n_splits}, head_dim {head_dim}");
            return Err(TwinError::new(field, format!("{len} elements"), format!("as many as {shape} make")));
        }
    }
    let engine = options.engine()?;
    options.run(|| run_reduce(partials, engine))
}

/// The exponential `E` of section 4 for each `x`.
///
/// # Errors
/// When some `x` is greater than 0, where `E` is not defined, or the path is not to be had.
pub fn exp(x: &[f32], options: &Options) -> Result<Vec<f32>, TwinError> {
    if let Some(at) = x.iter().position(|&x| x > 0.0) {
        return Err(TwinError::new("x", format!("{} at index {at}", x[at]), "at most 0, or NaN"));
    }
    Ok(match options.engine()? {
        Engine::Simd => simd::exp_all(x),
        Engine::Portable(_) => x.iter().map(|&x| portable::exp::exp(x)).collect(),
    })
}

fn run_partial(inputs: &Inputs<'_>, plan: &Plan, engine: Engine) -> Partials {
    match (inputs.k.elements, inputs.v.elements) {
        (KvElements::F32(k), KvElements::F32(v)) => run_blocks(inputs, (k, v), plan, engine),
        (KvElements::F16(k), KvElements::F16(v)) => run_blocks(inputs, (k, v), plan, engine),
        _ => unreachable!("both storages were checked against the plan's"),
    }
}

fn run_blocks<T: Stored>(inputs: &Inputs<'_>, kv: (&[T], &[T]), plan: &Plan, engine: Engine) -> Partials {
    let pairs = plan.num_q_heads() as usize * plan.n_splits as usize;
    let mut partials =
        Partials { m: vec![0.0; pairs], s: vec![0.0; pairs], acc: vec![0.0; pairs * plan.head_dim() as usize] };
    outputs_by_block(&mut partials, plan).into_par_iter().enumerate().for_each(|(index, mut out)| {
        // Neighbouring indices are heads of one split: threads at work at the same time share pages.
        let (split, kv_head) = (index / plan.num_kv_heads() as usize, index % plan.num_kv_heads() as usize);
        let block = Block {
            queries: inputs.q,
            num_kv_heads: plan.num_kv_heads() as usize,
            kv_head,
            group_size: plan.group_size() as usize,
            k: rows_of(kv.0, &inputs.k, kv_head, plan),
            v: rows_of(kv.1, &inputs.v, kv_head, plan),
            keys: split_keys(plan, split),
            kv_len: plan.kv_len as usize,
            tile: plan.tile,
        };
        match engine {
            Engine::Simd => simd::partial(&block, &mut out),
            Engine::Portable(fault) => portable::partial(&block, &mut out, fault),
        }
    });
    partials
}

fn rows_of<'a, T>(elements: &'a [T], view: &KvView<'_>, kv_head: usize, plan: &Plan) -> Rows<'a, T> {
    let head_dim = plan.head_dim() as usize;
    Rows { elements, offset: kv_head * view.stride_head, stride: view.stride_row, count: view.rows, head_dim }
}

fn split_keys(plan: &Plan, split: usize) -> std::ops::Range<usize> {
    let (chunk, kv_len) = (plan.chunk as usize, plan.kv_len as usize);
    split * chunk..kv_len.min((split + 1) * chunk)
}

/// The places that each block writes, by split and then KV head: `G` of them, one a query head.
fn outputs_by_block<'a>(partials: &'a mut Partials, plan: &Plan) -> Vec<Vec<HeadPartial<'a>>> {
    let (n_splits, kv_heads) = (plan.n_splits as usize, plan.num_kv_heads() as usize);
    let group_size = plan.group_size() as usize;
    let mut blocks: Vec<Vec<HeadPartial<'a>>> =
        (0..n_splits * kv_heads).map(|_| Vec::with_capacity(group_size)).collect();
    let acc = partials.acc.chunks_mut(plan.head_dim() as usize);
    for (pair, ((m, s), acc)) in partials.m.iter_mut().zip(&mut partials.s).zip(acc).enumerate() {
        let (head, split) = (pair / n_splits, pair % n_splits);
        blocks[split * kv_heads + head / group_size].push(HeadPartial { m, s, acc });
    }
    blocks
}

fn run_reduce(partials: &PartialsView<'_>, engine: Engine) -> Vec<f32> {
    let &PartialsView { m, s, acc, num_q_heads, n_splits, head_dim } = partials;
    let mut out = vec![0.0; num_q_heads * head_dim];
    out.par_chunks_mut(head_dim).enumerate().for_each(|(head, out)| {
        let pairs = head * n_splits..(head + 1) * n_splits;
        let (m, s) = (&m[pairs.clone()], &s[pairs.clone()]);
        let acc = &acc[pairs.start * head_dim..pairs.end * head_dim];
        match engine {
            Engine::Simd => simd::reduce(m, s, acc, out),
            Engine::Portable(fault) => portable::reduce(m, s, acc, out, fault),
        }
    });
    out
}
