//! Split-K decode attention for NVIDIA GPUs: the kernels of the contract `splitk/1` (docs/contract.md) in Rust.
//!
//! `partial.rs` and `reduce.rs` hold one body each. This file stamps an entry point from it for every combination that
//! the tile table asks for. cuda-oxide keeps the name of a kernel only if it is not generic, hence the macro.

#![no_std]
// Everything is inlined into the entries, on purpose. Their parameters are the contract's, and so are the names of one
// letter. Lengths and indices are far below 2^32, alignment is the launch's promise, and `#[kernel]` adds statements.
#![allow(clippy::inline_always, clippy::too_many_arguments, clippy::many_single_char_names)]
#![allow(clippy::cast_possible_truncation, clippy::cast_ptr_alignment, clippy::items_after_statements)]

mod arith;
mod butterfly;
mod dependent;
mod memory;
mod merge;
mod names;
mod partial;
mod reduce;
mod ring;
mod rows;
mod shared;
mod storage;
mod target;
mod unroll;
mod warp_state;

use cuda_device::{DynamicSharedArray, SharedArray, kernel, launch_bounds};
pub use shared::Shape;
use storage::{F16, F32, Storage};

/// One partial kernel a line: name, storage type, heads a group, head dimension, warps a block, rows a step.
macro_rules! partial_kernels {
    ($($name:ident: $storage:ty, g $g:literal, d $d:literal, w $w:literal, r $r:literal;)*) => { $(
        /// Section 5 of the contract; grid, block and parameters as section 8.
        ///
        /// # Safety
        /// The launch keeps the contract's sections 2, 3 and 8, with `Shape::bytes` of dynamic shared memory.
        #[kernel]
        #[launch_bounds({ 32 * $w }, 1)]
        pub unsafe fn $name(
            q: *const f32,
            k: *const u8,
            v: *const u8,
            part_m: *mut f32,
            part_s: *mut f32,
            part_acc: *mut f32,
            kv_len: u32,
            chunk: u32,
            n_splits: u32,
            q_stride_head: usize,
            k_stride_row: usize,
            k_stride_head: usize,
            v_stride_row: usize,
            v_stride_head: usize,
        ) {
            const SHAPE: Shape = Shape {
                element: <$storage as Storage>::BYTES, heads: $g, head_dim: $d, warps: $w, rows: $r,
            };
            let args = partial::Args {
                q, k, v, part_m, part_s, part_acc, kv_len, chunk, n_splits,
                q_stride_head, k_stride_row, k_stride_head, v_stride_row, v_stride_head,
                shared: DynamicSharedArray::<u8, 16>::get(),
            };
            // SAFETY: the launch keeps the contract, which is what the body asks for.
            unsafe {
                partial::partial::<
                    $storage, $g, $d, $w, $r,
                    { $d / 32 },
                    { $d / 32 * <$storage as Storage>::BYTES / 4 },
                    { $r / 2 * $g },
                    { usize::div_ceil($r * $g, 32) },
                    { SHAPE.part() },
                    { SHAPE.ring_steps() },
                >(&args);
            }
        }

        const _: () = names::assert_partial(
            stringify!($name), <$storage as Storage>::NAME, $g, $d, $w, $r,
        );
        // Rows halve with each level of the butterfly, and a lane's part of a row is whole vectors.
        const _: () = assert!(usize::is_power_of_two($r) && $r >= 2 && $r <= 32 && $d % 128 == 0);
    )* };
}

partial_kernels! {
    splitk_partial_f16_g1_d256_w8r4: F16, g 1, d 256, w 8, r 4;
    splitk_partial_f16_g2_d256_w8r4: F16, g 2, d 256, w 8, r 4;
    splitk_partial_f16_g3_d256_w8r4: F16, g 3, d 256, w 8, r 4;
    splitk_partial_f16_g4_d256_w8r4: F16, g 4, d 256, w 8, r 4;
    splitk_partial_f16_g5_d256_w8r4: F16, g 5, d 256, w 8, r 4;
    splitk_partial_f16_g6_d256_w8r4: F16, g 6, d 256, w 8, r 4;
    splitk_partial_f16_g7_d256_w8r4: F16, g 7, d 256, w 8, r 4;
    splitk_partial_f16_g8_d256_w8r4: F16, g 8, d 256, w 8, r 4;
    splitk_partial_f16_g1_d256_w12r4: F16, g 1, d 256, w 12, r 4;
    splitk_partial_f16_g2_d256_w12r4: F16, g 2, d 256, w 12, r 4;
    splitk_partial_f16_g3_d256_w12r4: F16, g 3, d 256, w 12, r 4;
    splitk_partial_f16_g4_d256_w12r4: F16, g 4, d 256, w 12, r 4;
    splitk_partial_f16_g5_d256_w12r4: F16, g 5, d 256, w 12, r 4;
    splitk_partial_f16_g6_d256_w12r4: F16, g 6, d 256, w 12, r 4;
    splitk_partial_f32_g1_d256_w8r4: F32, g 1, d 256, w 8, r 4;
    splitk_partial_f32_g2_d256_w8r4: F32, g 2, d 256, w 8, r 4;
    splitk_partial_f32_g3_d256_w8r4: F32, g 3, d 256, w 8, r 4;
    splitk_partial_f32_g4_d256_w8r4: F32, g 4, d 256, w 8, r 4;
    splitk_partial_f32_g5_d256_w8r4: F32, g 5, d 256, w 8, r 4;
    splitk_partial_f32_g6_d256_w8r4: F32, g 6, d 256, w 8, r 4;
    splitk_partial_f32_g7_d256_w8r4: F32, g 7, d 256, w 8, r 4;
    splitk_partial_f32_g8_d256_w8r4: F32, g 8, d 256, w 8, r 4;
}

/// One reduce kernel a line: name and head dimension.
macro_rules! reduce_kernels {
    ($($name:ident: d $d:literal;)*) => { $(
        /// Section 6 of the contract; grid, block and parameters as section 8.
        ///
        /// # Safety
        /// The launch keeps the contract's sections 2, 3 and 8.
        // Six blocks' worth of registers for one, 40 a thread: see `reduce.rs`.
        #[kernel]
        #[launch_bounds(256, 6)]
        pub unsafe fn $name(
            part_m: *const f32,
            part_s: *const f32,
            part_acc: *const f32,
            out: *mut f32,
            n_splits: u32,
            out_stride_head: usize,
        ) {
            static mut A: reduce::SumsA = SharedArray::UNINIT;
            static mut S: reduce::SumsS = SharedArray::UNINIT;
            static mut FACTORS: reduce::Factors = SharedArray::UNINIT;
            let args = reduce::Args { part_m, part_s, part_acc, out, n_splits, out_stride_head };
            // SAFETY: the arrays belong to this kernel, and the launch keeps the contract, as the body asks.
            unsafe {
                let exchange = reduce::Exchange {
                    a: SharedArray::as_raw_mut_ptr(&raw mut A),
                    s: SharedArray::as_raw_mut_ptr(&raw mut S),
                    factors: SharedArray::as_raw_mut_ptr(&raw mut FACTORS),
                };
                reduce::reduce::<$d>(&args, &exchange);
            }
        }

        const _: () = names::assert_reduce(stringify!($name), $d);
    )* };
}

reduce_kernels! {
    splitk_reduce_d256: d 256;
}
