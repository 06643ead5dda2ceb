//! Split-K decode attention on an NVIDIA GPU: the Rust kernels (`rust_kernel/kernel`), launched through the CUDA driver.
//!
//! The kernels' PTX is part of this library. The driver is opened when a [`Context`] is asked for, and not before, so a
//! program that links this library starts on a machine that has none.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use splitk_cuda::{Config, Context, PtxSet, SplitKDecode};
//! # use splitk_plan::{Geometry, Storage};
//! let context = Arc::new(Context::primary(0)?);
//! context.make_current()?;
//! let geometry = Geometry::new(16, 4, 256, Storage::F16)?;
//! let decode = SplitKDecode::new(&context, PtxSet::embedded()?, &Config::new(geometry, 262_144))?;
//! // … and `decode.launch(&call)` for each token: see `examples/decode.rs`.
//! # Ok::<(), splitk_cuda::Error>(())
//! ```

mod buffer;
mod context;
mod decode;
mod driver;
mod embedded;
mod error;
mod kernels;
mod manifest;
mod memory;
mod module;
mod profile;
mod ptx_set;
pub mod view;

pub use buffer::DeviceBuffer;
pub use context::{Context, check_stream, current_device, device_count};
pub use decode::{Call, Config, MAX_CAPACITY, SplitKDecode};
pub use error::Error;
pub use kernels::plans_by_tile;
pub use memory::device_of;
pub use profile::choose_profile;
pub use ptx_set::{Choice, PtxFile, PtxSet};
pub use view::ArrayView;
