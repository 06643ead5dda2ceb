//! How a call runs; nothing here changes a bit, but for a planted fault.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use crate::{Fault, TwinError, simd};

/// Which implementation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Path {
    /// SIMD where the processor has it and no fault is planted, else portable.
    #[default]
    Auto,
    /// SIMD (AVX2, FMA and F16C), or an error.
    Simd,
    /// Scalar code, with fused multiply-adds in exact software.
    Portable,
}

const PATHS: [(Path, &str); 3] = [(Path::Auto, "auto"), (Path::Simd, "simd"), (Path::Portable, "portable")];

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = PATHS.iter().find(|row| row.0 == *self).expect("every path has its row in PATHS");
        f.write_str(row.1)
    }
}

impl FromStr for Path {
    type Err = TwinError;

    fn from_str(word: &str) -> Result<Self, TwinError> {
        let found = PATHS.iter().find(|row| row.1 == word).map(|row| row.0);
        found.ok_or_else(|| TwinError::new("path", format_args!("{word:?}"), PATHS.map(|row| row.1).join(", ")))
    }
}

/// How a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Threads; 0 takes rayon's own pool, one a core.
    pub threads: usize,
    /// Which implementation runs.
    pub path: Path,
    /// The fault to plant; needs the portable path.
    pub fault: Fault,
}

/// Most threads of a call.
const MAX_THREADS: usize = 1024;

/// An implementation that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Simd,
    Portable(Fault),
}

/// Whether this processor runs the SIMD path.
pub fn simd_available() -> bool {
    simd::available()
}

impl Options {
    /// The implementation that `path` and `fault` ask for.
    pub(crate) fn engine(&self) -> Result<Engine, TwinError> {
        let clean = self.fault == Fault::None;
        match self.path {
            Path::Simd if !clean => {
                Err(TwinError::new("fault", self.fault, "none on the simd path (faults live in path portable)"))
            }
            Path::Simd if !simd_available() => {
                Err(TwinError::new("path", "simd", "auto or portable (this processor lacks AVX2, FMA or F16C)"))
            }
            Path::Simd => Ok(Engine::Simd),
            Path::Auto if clean && simd_available() => Ok(Engine::Simd),
            Path::Auto | Path::Portable => Ok(Engine::Portable(self.fault)),
        }
    }

    /// Runs `work` on the threads that were asked for, after a look at their floating-point mode.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, TwinError> {
        if self.threads == 0 {
            check_denormals(rayon::broadcast(|_| denormals_are_kept()))?;
            return Ok(work());
        }
        if self.threads > MAX_THREADS {
            return Err(TwinError::new("threads", self.threads, format!("0 to {MAX_THREADS}")));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build();
        let pool = pool.map_err(|error| TwinError::new("threads", self.threads, format!("fewer ({error})")))?;
        check_denormals(pool.broadcast(|_| denormals_are_kept()))?;
        Ok(pool.install(work))
    }
}

/// Whether this thread computes with denormals. A library built with fast-math may have switched them off for the thread
/// that loaded it, and every thread started from there has inherited that.
fn denormals_are_kept() -> bool {
    black_box(f32::MIN_POSITIVE) * black_box(0.5) > 0.0 && black_box(f32::from_bits(1)) + black_box(0.0) > 0.0
}

fn check_denormals(kept: Vec<bool>) -> Result<(), TwinError> {
    if kept.into_iter().all(|kept| kept) {
        return Ok(());
    }
    Err(TwinError::new("floating-point mode", "flush-to-zero", "gradual underflow (some library has switched it off)"))
}
