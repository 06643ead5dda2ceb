//! Small kernels in CUDA C++, as nvcc writes them in PTX, against what they compute, written down again in Rust.

mod floats;
mod halves;
mod harness;
mod integers;
mod lanes;
mod memory;
mod waiting;
