//! Inputs for the tests: aligned arrays with strides, seeded numbers, and comparison as the contract means it.
#![allow(dead_code, reason = "each test file takes what it needs")]

use cpu_twin::{Inputs, KvElements, KvView, Options, Partials, Path, QueryView, decode, partial};
use half::f16;
use splitk_plan::{Plan, PlanRequest, Storage, Tile};

pub const HEAD_DIM: usize = 256;

/// A seeded xorshift generator.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn bits(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() as usize) % end
    }

    /// N(0, 1), by Box and Muller.
    pub fn normal(&mut self) -> f32 {
        let uniform = |bits: u32| (f64::from(bits) + 0.5) / (1_u64 << 32) as f64;
        let (radius, angle) = (uniform(self.bits()), uniform(self.bits()));
        ((-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()) as f32
    }
}

/// An array whose first element lies at a multiple of 64 bytes.
pub struct Aligned<T> {
    storage: Vec<T>,
    len: usize,
}

impl<T: Copy> Aligned<T> {
    pub fn new(values: Vec<T>) -> Self {
        let len = values.len();
        let spare = 64 / size_of::<T>();
        let mut storage: Vec<T> = Vec::with_capacity(len + spare);
        let offset = storage.as_ptr().align_offset(64);
        let filler = values[0];
        storage.resize(offset, filler);
        storage.extend(values);
        storage.resize(len + spare, filler);
        Self { storage, len }
    }

    pub fn elements(&self) -> &[T] {
        let offset = self.storage.as_ptr().align_offset(64);
        &self.storage[offset..offset + self.len]
    }
}

/// K or V in either storage.
pub enum Kv {
    F32(Aligned<f32>),
    F16(Aligned<f16>),
}

impl Kv {
    pub fn new(values: &[f32], storage: Storage) -> Self {
        match storage {
            Storage::F32 => Self::F32(Aligned::new(values.to_vec())),
            Storage::F16 => Self::F16(Aligned::new(values.iter().map(|&x| f16::from_f32(x)).collect())),
        }
    }

    pub fn elements(&self) -> KvElements<'_> {
        match self {
            Self::F32(array) => KvElements::F32(array.elements()),
            Self::F16(array) => KvElements::F16(array.elements()),
        }
    }

    /// The element at `index`, as the arithmetic sees it.
    pub fn at(&self, index: usize) -> f32 {
        match self {
            Self::F32(array) => array.elements()[index],
            Self::F16(array) => array.elements()[index].to_f32(),
        }
    }
}

/// A call: plan and arrays.
pub struct Call {
    pub plan: Plan,
    pub rows: usize,
    pub q_stride_head: usize,
    pub stride_row: usize,
    pub stride_head: usize,
    pub q: Vec<f32>,
    pub k: Vec<f32>,
    pub v: Vec<f32>,
}

/// What a call is made from.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub kv_len: u32,
    pub group_size: u32,
    pub num_kv_heads: u32,
    pub storage: Storage,
    pub policy: &'static str,
    /// Warps and rows in place of the table's.
    pub tile: Option<(u32, u32)>,
    /// Rows of K and V behind `kv_len`.
    pub tail: usize,
}

pub const SMALL: Shape = Shape {
    kv_len: 203,
    group_size: 4,
    num_kv_heads: 2,
    storage: Storage::F16,
    policy: "chunk:37",
    tile: None,
    tail: 0,
};

impl Shape {
    pub fn plan(&self) -> Plan {
        let mut plan = Plan::new(&PlanRequest {
            kv_len: self.kv_len,
            num_q_heads: self.group_size * self.num_kv_heads,
            num_kv_heads: self.num_kv_heads,
            head_dim: HEAD_DIM as u32,
            storage: self.storage,
            policy: self.policy.parse().expect("a policy"),
            profile: "h200".parse().expect("a profile"),
        })
        .expect("a plan");
        if let Some((warps, rows)) = self.tile {
            plan.tile = Tile::new(warps, rows, self.storage, HEAD_DIM as u32);
        }
        plan
    }

    /// A call with N(0, 1) everywhere, the tail included. Strides are not dense: 16 bytes lie between rows and heads.
    pub fn normal(&self, seed: u64) -> Call {
        let plan = self.plan();
        let gap = 16 / plan.storage().bytes() as usize;
        let stride_head = HEAD_DIM + gap;
        let stride_row = self.num_kv_heads as usize * stride_head + gap;
        let rows = self.kv_len as usize + self.tail;
        let q_stride_head = HEAD_DIM + 4;
        let mut random = Random::new(seed);
        let mut numbers = |count| (0..count).map(|_| random.normal()).collect::<Vec<f32>>();
        let q = numbers(plan.num_q_heads() as usize * q_stride_head);
        let (k, v) = (numbers(rows * stride_row), numbers(rows * stride_row));
        Call { plan, rows, q_stride_head, stride_row, stride_head, q, k, v }
    }
}

impl Call {
    pub fn index(&self, key: usize, kv_head: usize, dim: usize) -> usize {
        key * self.stride_row + kv_head * self.stride_head + dim
    }

    /// Fills every row from `kv_len` on.
    pub fn poison_tail(&mut self, value: f32) {
        let start = self.plan.kv_len as usize * self.stride_row;
        self.k[start..].fill(value);
        self.v[start..].fill(value);
    }

    fn with_inputs<R>(&self, work: impl FnOnce(&Inputs<'_>) -> R) -> R {
        let storage = self.plan.storage();
        let (k, v) = (Kv::new(&self.k, storage), Kv::new(&self.v, storage));
        let q = Aligned::new(self.q.clone());
        let view =
            |elements| KvView { elements, rows: self.rows, stride_row: self.stride_row, stride_head: self.stride_head };
        let q = QueryView { elements: q.elements(), stride_head: self.q_stride_head };
        work(&Inputs { q, k: view(k.elements()), v: view(v.elements()) })
    }

    pub fn decode(&self, options: &Options) -> Vec<f32> {
        self.with_inputs(|inputs| decode(inputs, &self.plan, options)).expect("a result")
    }

    pub fn partial(&self, options: &Options) -> Partials {
        self.with_inputs(|inputs| partial(inputs, &self.plan, options)).expect("a result")
    }
}

pub fn on(path: Path) -> Options {
    Options { path, ..Options::default() }
}

/// Equal as the contract means it: the same 32 bits, or both NaN.
pub fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[track_caller]
pub fn assert_same(what: &str, a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    assert!(!a.is_empty());
    if let Some(at) = (0..a.len()).find(|&i| !same(a[i], b[i])) {
        panic!("{what}: index {at}: {:e} {:08x} against {:e} {:08x}", a[at], a[at].to_bits(), b[at], b[at].to_bits());
    }
}
