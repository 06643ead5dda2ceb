//! Python bindings of the planner, the CPU twin, the PTX machine and the launching of the Rust kernels: the module
//! `rust_kernel._native`.
//!
//! Thin by intent: each binding converts its arguments, lets go of the interpreter where the work is long, and turns the
//! library's error into a documented Python exception whose text is one line. Nothing is computed here.

mod arguments;
mod arrays;
mod decode;
mod errors;
mod plan;
mod ptx;
mod table;
mod twin;

use pyo3::prelude::*;

/// The native half of `rust_kernel`. Use it through `rust_kernel.plan`, `rust_kernel.twin`, `rust_kernel.ptx` and
/// `rust_kernel.decode`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::decode::{
        ContextError, CudaError, DeviceUnavailableError, PtxSetError, PyDeviceArray, PySplitKDecode, choose_target,
        ptx_targets, ptx_text,
    };
    #[pymodule_export]
    use super::errors::{PlanError, PtxError, PtxFault};
    #[pymodule_export]
    use super::plan::{
        PyDeviceProfile, PyPlan, PyScratchLayout, PyTile, make_plan, max_splits, policies, profiles, scratch_layout,
    };
    #[pymodule_export]
    use super::ptx::{PyEntryInfo, PyLaunchStats, PyMemory, PyPtxModule, launch, machine_version};
    #[pymodule_export]
    use super::table::{PyTileTable, tile_table};
    #[pymodule_export]
    use super::twin::{decode, exp, faults, partial, reduce, simd_available, source_sha256};

    use super::{Bound, PyModule, PyModuleMethods, PyResult, errors};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("CONTRACT", splitk_plan::CONTRACT)?;
        module.add("SOURCE_STAMP", env!("DIFFCHECK_STAMP"))?;
        errors::declare_attributes(module.py())?;
        super::decode::declare_attributes(module.py())
    }
}
