//! The files of `rust_kernel/ptx`, which are part of this library.

/// The manifest.
pub const MANIFEST: &str = include_str!("../../../rust_kernel/ptx/manifest.json");

/// Architecture and text of each file.
pub const FILES: &[(u32, &str)] = &[
    (80, include_str!("../../../rust_kernel/ptx/sm_80.ptx")),
    (89, include_str!("../../../rust_kernel/ptx/sm_89.ptx")),
    (90, include_str!("../../../rust_kernel/ptx/sm_90.ptx")),
    (120, include_str!("../../../rust_kernel/ptx/sm_120.ptx")),
    (121, include_str!("../../../rust_kernel/ptx/sm_121.ptx")),
];
