//! What a launch is given and what it returns.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::one_line;
use crate::fault::Fault;
use crate::types::{Kind, Scalar};

/// Which instructions of the host the executor may use. Both give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Path {
    /// AVX2 and FMA where the host has them.
    #[default]
    Auto,
    /// Neither, with fma in software, as a host without them runs it.
    Portable,
}

/// Shape and limits of a launch.
#[derive(Debug, Clone)]
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of `.extern .shared` memory a block.
    pub dynamic_shared: u32,
    /// Host threads that run blocks; 0 is one a core.
    pub threads: usize,
    /// Warp instructions that one block may execute; `None` is [`LaunchConfig::DEFAULT_STEP_LIMIT`].
    pub step_limit: Option<u64>,
    /// Which instructions of the host may be used.
    pub path: Path,
    /// Look for races between threads. Costs some time, and host memory: about 11 bytes for each byte that the launch
    /// touches of memory that it may store to, and for each of shared memory.
    pub races: bool,
    /// It may start before the launches before it over the same memory have ended, as one with the attribute
    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION` may on a device. Here it runs after them all the same;
    /// what a thread does before its `griddepcontrol.wait` that conflicts with what they did is reported as a race,
    /// where races are looked for.
    pub programmatic: bool,
    /// A number from which the order of blocks, of warps and of the sides of branches follows, on one host thread;
    /// `None`: the machine's own. The results of a kernel without races do not depend on it, but for what its atomic
    /// operations make depend on their order.
    pub schedule: Option<u64>,
    /// Ends the launch soon after it is set.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl LaunchConfig {
    /// The step limit of a launch that names none: some minutes of one core.
    pub const DEFAULT_STEP_LIMIT: u64 = 4_000_000_000;

    /// A launch of `grid` blocks of `block` threads on all cores, without dynamic shared memory.
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid,
            block,
            dynamic_shared: 0,
            threads: 0,
            step_limit: None,
            path: Path::Auto,
            races: true,
            programmatic: false,
            schedule: None,
            cancel: None,
        }
    }
}

/// The value of one kernel parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Arg {
    value: Value,
    ty: Option<Scalar>,
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Int(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

impl Arg {
    /// An integer, or an address; it must fit the parameter's type.
    pub fn int(value: i128) -> Self {
        Self { value: Value::Int(value), ty: None }
    }

    /// A floating-point number, rounded to the parameter's type; a finite one must stay finite.
    pub fn float(value: f64) -> Self {
        Self { value: Value::Float(value), ty: None }
    }

    /// The bytes of a parameter of any type, an array included.
    pub fn bytes(value: Vec<u8>) -> Self {
        Self { value: Value::Bytes(value), ty: None }
    }

    /// The same value, said to be of the PTX type `ty`, which the launch then holds against the entry.
    ///
    /// # Errors
    /// If `ty` is no scalar type of PTX.
    pub fn typed(mut self, ty: &str) -> Result<Self, LaunchError> {
        let scalar = Scalar::from_word(ty.strip_prefix('.').unwrap_or(ty)).filter(|s| s.bytes() > 0);
        let words = || Scalar::ALL.iter().filter(|s| s.bytes() > 0).map(|s| s.word()).collect::<Vec<_>>();
        self.ty = Some(scalar.ok_or_else(|| LaunchError::input("argument type", ty, words().join(", ")))?);
        Ok(self)
    }

    /// The little-endian bytes of the argument for a parameter of `count` times `ty`, or what is wrong with it.
    pub(crate) fn encode(&self, ty: Scalar, count: Option<u32>) -> Result<Vec<u8>, (String, String)> {
        if let Some(given) = self.ty.filter(|given| count.is_some() || !ty.accepts(*given)) {
            return Err((format!("a {} value", given.word()), "the parameter's own type".to_owned()));
        }
        match (&self.value, count) {
            (Value::Bytes(bytes), _) => {
                let want = ty.bytes() * count.unwrap_or(1);
                let wrong = (format!("{} bytes", bytes.len()), format!("{want} bytes"));
                if bytes.len() == want as usize { Ok(bytes.clone()) } else { Err(wrong) }
            }
            (_, Some(count)) => Err(("a number".to_owned(), format!("{} bytes", ty.bytes() * count))),
            (Value::Int(value), None) => encode_int(*value, ty),
            (Value::Float(value), None) => encode_float(*value, ty),
        }
    }
}

fn encode_int(value: i128, ty: Scalar) -> Result<Vec<u8>, (String, String)> {
    if matches!(ty.kind(), Kind::Float | Kind::Bfloat) {
        return encode_float(value as f64, ty);
    }
    let bits = ty.bits();
    let (low, high) = match ty.kind() {
        Kind::Unsigned => (0, (1i128 << bits) - 1),
        Kind::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (-(1i128 << (bits - 1)), (1i128 << bits) - 1),
    };
    if (low..=high).contains(&value) {
        Ok(value.to_le_bytes()[..ty.bytes() as usize].to_vec())
    } else {
        Err((value.to_string(), format!("{low} to {high}")))
    }
}

fn encode_float(value: f64, ty: Scalar) -> Result<Vec<u8>, (String, String)> {
    match ty {
        Scalar::F64 => Ok(value.to_le_bytes().to_vec()),
        Scalar::F32 if value.is_finite() && (value as f32).is_infinite() => {
            Err((format!("{value:?}"), format!("-{0:?} to {0:?} after rounding to f32, inf and NaN", f32::MAX)))
        }
        Scalar::F32 => Ok((value as f32).to_le_bytes().to_vec()),
        _ => Err((format!("the float {value:?}"), "an integer, or the value's bytes".to_owned())),
    }
}

/// Counts of a launch that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchStats {
    /// Blocks run.
    pub blocks: u64,
    /// Warps run.
    pub warps: u64,
    /// Instructions, one for each time a warp executed one.
    pub instructions: u64,
    /// Instructions times the lanes that execute them: active, with a guard that is true.
    pub thread_instructions: u64,
    /// Branches at which the lanes of a warp parted.
    pub divergent_branches: u64,
    /// Block barriers passed, one a warp.
    pub barriers: u64,
    /// Some instruction has no exact definition, so that a device may give other bits (never in strict mode).
    pub approximate: bool,
}

impl LaunchStats {
    pub(crate) fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.warps += other.warps;
        self.instructions += other.instructions;
        self.thread_instructions += other.thread_instructions;
        self.divergent_branches += other.divergent_branches;
        self.barriers += other.barriers;
        self.approximate |= other.approximate;
    }
}

/// Why a launch gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The launch itself is wrong; nothing ran.
    #[error("{field}: {value} is not allowed; allowed: {allowed}")]
    Input {
        /// Which part of the launch.
        field: String,
        /// What was given.
        value: String,
        /// What may be given.
        allowed: String,
    },
    /// The kernel did something that it may not do. Of several, the one in the lowest block.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// [`LaunchConfig::cancel`] was set. The memory keeps what was written until then.
    #[error("the launch was cancelled")]
    Cancelled,
}

impl LaunchError {
    pub(crate) fn input(field: impl Into<String>, value: impl std::fmt::Display, allowed: impl Into<String>) -> Self {
        Self::Input { field: field.into(), value: one_line(&value.to_string()), allowed: allowed.into() }
    }
}
