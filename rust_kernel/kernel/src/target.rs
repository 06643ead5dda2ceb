//! What the architecture that is compiled for has. cuda-oxide is told it by a variable; without that (clippy, say) the
//! least of all counts.

const NAME: &[u8] = match option_env!("CUDA_OXIDE_TARGET") {
    Some(name) => name.as_bytes(),
    None => b"",
};

/// Bytes of shared memory that a block may have where these kernels are to run.
pub const BLOCK_LIMIT: usize = match NAME {
    // A file runs on every device for which it is the newest that may: that of sm_80 on sm_86 too, which has less.
    b"" | b"sm_80" | b"sm_89" | b"sm_120" | b"sm_121" => 99 * 1024,
    b"sm_90" => 227 * 1024,
    _ => panic!("the shared memory of a block on this architecture has to be stated"),
};

/// Whether kernels may start early (`dependent.rs`).
pub const CAN_START_EARLY: bool = matches!(NAME, b"sm_90" | b"sm_120" | b"sm_121");

/// Whether a copy takes a policy of the L2: the PTX that the compiler writes for sm_80 has none.
pub const HAS_POLICY: bool = !matches!(NAME, b"" | b"sm_80");
