//! A kernel of the corpus with its buffers.

use ptx_machine::{AllocOptions, Arg, LaunchConfig, LaunchStats, Memory, Module, launch};

/// The text of a kernel of the corpus.
macro_rules! source {
    ($name:literal) => {
        include_str!(concat!("../../corpus/cuda/", $name, ".ptx"))
    };
}
pub(crate) use source;

/// A number that lies in memory.
pub trait Number: Copy {
    const BYTES: usize;
    fn put(self, out: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),+) => { $(
        impl Number for $ty {
            const BYTES: usize = size_of::<$ty>();
            fn put(self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
            fn take(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap())
            }
        }
    )+ };
}
numbers!(u8, i8, u16, i16, u32, i32, u64, i64, u128, f32, f64);

/// A module of the corpus and the memory that its kernels share.
pub struct Corpus {
    module: Module,
    memory: Memory,
}

impl Corpus {
    /// Strict: every result is defined to the last bit.
    pub fn strict(text: &str) -> Self {
        Self::parse(text, true)
    }

    /// With approximations, whose results are bounded only.
    pub fn lax(text: &str) -> Self {
        Self::parse(text, false)
    }

    fn parse(text: &str, strict: bool) -> Self {
        let module = Module::parse(text.as_bytes(), "corpus.ptx", strict).unwrap_or_else(|e| panic!("{e}"));
        Self { module, memory: Memory::new() }
    }

    /// Copies numbers in; gives back their address.
    pub fn buffer<T: Number>(&mut self, numbers: &[T]) -> u64 {
        let mut bytes = Vec::new();
        for number in numbers {
            number.put(&mut bytes);
        }
        self.memory.alloc("buffer", &bytes, AllocOptions::default()).unwrap()
    }

    /// Room for results, which no one has written.
    pub fn room<T: Number>(&mut self, count: usize) -> u64 {
        self.memory.alloc_uninit("room", count * T::BYTES).unwrap()
    }

    pub fn read<T: Number>(&self, address: u64, count: usize) -> Vec<T> {
        assert_eq!(self.memory.unwritten(address, count * T::BYTES).unwrap(), 0, "results are missing");
        let mut bytes = vec![0; count * T::BYTES];
        self.memory.read(address, &mut bytes).unwrap();
        bytes.chunks(T::BYTES).map(T::take).collect()
    }

    /// Runs a kernel that must end well.
    pub fn run(&mut self, entry: &str, grid: [u32; 3], block: [u32; 3], args: &[Arg]) -> LaunchStats {
        launch(&self.module, entry, &mut self.memory, &LaunchConfig::new(grid, block), args)
            .unwrap_or_else(|e| panic!("{entry}: {e}"))
    }
}

/// An address or whole number as an argument.
pub fn int(value: impl Into<i128>) -> Arg {
    Arg::int(value.into())
}

/// Numbers without a pattern (xorshift, Marsaglia 2003), the same in every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn word(&mut self) -> u32 {
        (self.long() >> 32) as u32
    }

    pub fn long(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From -1 to 1.
    pub fn float(&mut self) -> f32 {
        self.word() as i32 as f32 / 2f32.powi(31)
    }

    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.word()).collect()
    }

    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.float()).collect()
    }
}
