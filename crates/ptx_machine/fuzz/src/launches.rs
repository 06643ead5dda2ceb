//! Launches of whatever was accepted: small grids, arguments that are made from the module's bytes, and limits.

use ptx_machine::{AllocOptions, Arg, Entry, LaunchConfig, LaunchError, LaunchStats, Memory, Module, Path, launch};

use super::check_report;

/// Warp instructions that a block may execute: a kernel that loops for ever ends here.
const STEPS: u64 = 2000;
/// Entries of one module that are launched.
const ENTRIES: usize = 4;
const BUFFER: usize = 512;

/// Numbers that depend on the module's bytes alone (splitmix64, seeded by FNV-1a).
struct Numbers(u64);

impl Numbers {
    fn new(data: &[u8]) -> Self {
        Self(data.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.next() % from.len() as u64) as usize]
    }
}

/// What a launch left behind.
#[derive(Debug, PartialEq)]
struct Outcome {
    result: Result<LaunchStats, LaunchError>,
    memory: Vec<u8>,
    unwritten: usize,
}

/// Launches the first entries with both paths, which must give the same on one host thread.
pub fn launch_all(module: &Module, data: &[u8]) {
    let mut numbers = Numbers::new(data);
    for entry in module.entries().iter().take(ENTRIES) {
        let (config, seed) = (config(entry, &mut numbers), numbers.next());
        let [native, portable] = [Path::Auto, Path::Portable]
            .map(|path| outcome(module, entry, &LaunchConfig { path, ..config.clone() }, &mut Numbers(seed)));
        // With several threads, a kernel that faults leaves more or less behind.
        assert!(config.threads > 1 || native == portable, "the paths differ: {native:?} {portable:?}");
        [native, portable].into_iter().filter_map(|o| o.result.err()).for_each(|e| check_report(&e.to_string()));
    }
}

fn config(entry: &Entry, numbers: &mut Numbers) -> LaunchConfig {
    let threads = numbers.pick(&[1, 7, 31, 32, 33, 64, 80]);
    let block = entry.required_threads.unwrap_or(numbers.pick(&[[threads, 1, 1], [threads, 2, 1], [5, 3, 2]]));
    let grid = numbers.pick(&[[1, 1, 1], [2, 1, 1], [1, 2, 3]]);
    LaunchConfig {
        dynamic_shared: if entry.uses_dynamic_shared { numbers.pick(&[0, 100, 4096]) } else { 0 },
        threads: numbers.pick(&[1, 1, 1, 2]),
        step_limit: Some(STEPS),
        schedule: numbers.pick(&[None, Some(1), Some(77)]),
        ..LaunchConfig::new(grid, block)
    }
}

/// Runs an entry on buffers of every kind, with arguments that may point to them.
fn outcome(module: &Module, entry: &Entry, config: &LaunchConfig, numbers: &mut Numbers) -> Outcome {
    let mut memory = Memory::new();
    let bytes: Vec<u8> = (0..BUFFER).map(|_| numbers.next() as u8).collect();
    let kinds = [
        AllocOptions::default(),
        AllocOptions { initialised: false, ..AllocOptions::default() },
        AllocOptions { scratch: true, ..AllocOptions::default() },
        AllocOptions { writable: false, ..AllocOptions::default() },
    ];
    let buffers = kinds.map(|options| memory.alloc("buffer", &bytes, options).unwrap_or(0));
    let args: Vec<Arg> = entry.params.iter().map(|p| argument(p.bytes as usize, &buffers, numbers)).collect();
    let result = launch(module, &entry.name, &mut memory, config, &args);
    let mut left = vec![0; BUFFER * buffers.len()];
    let mut unwritten = 0;
    for (&buffer, out) in buffers.iter().zip(left.chunks_mut(BUFFER)) {
        memory.read(buffer, out).expect("the buffer is there");
        unwritten += memory.unwritten(buffer, BUFFER).expect("the buffer is there");
    }
    Outcome { result, memory: left, unwritten }
}

/// The bytes of a parameter: an address where it has room for one, most often, or anything.
fn argument(bytes: usize, buffers: &[u64], numbers: &mut Numbers) -> Arg {
    let mut value: Vec<u8> = (0..bytes).map(|_| numbers.next() as u8).collect();
    let address = numbers.pick(buffers).wrapping_add(numbers.pick(&[0, 0, 0, 16, 4, 1, 508, 1 << 32, u64::MAX]));
    let small = numbers.next() % 40;
    let word = match numbers.next() % 8 {
        0 => return Arg::bytes(value),
        1 => small,
        _ if bytes >= 8 => address,
        _ => small,
    };
    let word = word.to_le_bytes();
    let count = bytes.min(8);
    value[..count].copy_from_slice(&word[..count]);
    Arg::bytes(value)
}
