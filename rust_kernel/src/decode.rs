//! `rust_kernel.decode`: the Rust kernels, launched through the CUDA driver.

mod arrays;
mod dlpack;
mod errors;
mod outcome;
mod streams;

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use splitk_cuda::{Call, Config, Context, DeviceBuffer, MAX_CAPACITY, PtxSet, SplitKDecode};
use splitk_plan::{Geometry, PolicyChoice, Storage};

pub use errors::{ContextError, CudaError, DeviceUnavailableError, PtxSetError, declare_attributes};
pub use outcome::PyDeviceArray;

use crate::arguments::{integer, word};
use crate::errors::plan_error;
use crate::plan::{
    DEFAULT_HEAD_DIM, DEFAULT_POLICY, DEFAULT_STORAGE, PyDeviceProfile, PyPlan, count, device_profile, parsed,
};
use crate::table::table_of;
use arrays::view_of;
use errors::decode_error;
use outcome::LetGo;

const F32_BYTES: u64 = 4;

/// Split-K decode attention for one query position, from the Rust kernels.
#[pyclass(name = "SplitKDecode", module = "rust_kernel.decode", frozen)]
pub struct PySplitKDecode {
    decode: LetGo<SplitKDecode>,
    own_out: Py<PyDeviceArray>,
}

#[pymethods]
impl PySplitKDecode {
    #[new]
    #[pyo3(
        signature = (num_q_heads, num_kv_heads, kv_capacity, *, head_dim=None, storage=None, policy=None, profile=None,
                     tiles=None, device=None, ptx_dir=None),
        text_signature = "(num_q_heads, num_kv_heads, kv_capacity, *, head_dim=256, storage='f16', policy='table', \
                          profile=None, tiles=None, device=None, ptx_dir=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "the builder's SplitKDecode takes as many")]
    fn new(
        py: Python<'_>,
        num_q_heads: &Bound<'_, PyAny>,
        num_kv_heads: &Bound<'_, PyAny>,
        kv_capacity: &Bound<'_, PyAny>,
        head_dim: Option<&Bound<'_, PyAny>>,
        storage: Option<&Bound<'_, PyAny>>,
        policy: Option<&Bound<'_, PyAny>>,
        profile: Option<&Bound<'_, PyAny>>,
        tiles: Option<&Bound<'_, PyAny>>,
        device: Option<&Bound<'_, PyAny>>,
        ptx_dir: Option<PathBuf>,
    ) -> PyResult<Self> {
        let kv_capacity = integer("kv_capacity", kv_capacity, 1, MAX_CAPACITY)?;
        let (q_heads, kv_heads) = (count("num_q_heads", num_q_heads)?, count("num_kv_heads", num_kv_heads)?);
        let head_dim = head_dim.map_or(Ok(DEFAULT_HEAD_DIM), |value| count("head_dim", value))?;
        let storage: Storage = parsed("storage", storage, DEFAULT_STORAGE, py)?;
        let policy: PolicyChoice = parsed("policy", policy, DEFAULT_POLICY, py)?;
        let geometry = Geometry::new(q_heads, kv_heads, head_dim, storage).map_err(|error| plan_error(py, &error))?;
        let profile = profile.map(|value| device_profile(Some(value), py)).transpose()?;
        let config = Config { geometry, kv_capacity, policy, profile, tiles: table_of(tiles)? };
        config.check().map_err(|error| decode_error(py, &error))?;
        let device = device.map(|value| integer("device", value, 0, i32::MAX as u32)).transpose()?;
        // Opens the driver, may make a context, assembles PTX, allocates: all of it may take long.
        let made = py.detach(|| make(&config, device, ptx_dir)).map_err(|error| decode_error(py, &error))?;
        let (decode, out) = made;
        if let Some(line) = decode.fallback() {
            warn(py, line)?;
        }
        let shape = (u64::from(q_heads), u64::from(head_dim));
        Ok(Self { own_out: Py::new(py, PyDeviceArray::new(out, shape))?, decode: LetGo::new(decode) })
    }

    /// Queues the attention of one query position and returns `out`.
    #[pyo3(signature = (q, k, v, kv_len, *, out=None, stream=None))]
    #[expect(clippy::too_many_arguments, reason = "the builder's SplitKDecode takes as many")]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        k: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
        kv_len: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let decode = &*self.decode;
        let kv_len = integer("kv_len", kv_len, 1, decode.config().kv_capacity)?;
        let result = out.map_or_else(|| self.own_out.bind(py).as_any().clone(), Bound::clone);
        let views = [view_of("q", q)?, view_of("k", k)?, view_of("v", v)?, view_of("out", &result)?];
        let stream = streams::handle(stream, q, decode.context().device())?;
        let [q, k, v, out] = &views;
        // SAFETY: the arrays are the caller's, who keeps them, and what they say of themselves, right until the stream
        // has passed the call, as with every library that queues work on a stream; so it is with stream and object.
        let queued = py.detach(|| unsafe { decode.launch(&Call { q, k, v, out, kv_len, stream }) });
        queued.map_err(|error| decode_error(py, &error))?;
        Ok(result)
    }

    /// The plan of a call with this `kv_len`.
    fn plan(&self, kv_len: &Bound<'_, PyAny>) -> PyResult<PyPlan> {
        let kv_len_number = integer("kv_len", kv_len, 1, self.decode.config().kv_capacity)?;
        self.decode.plan(kv_len_number).map(PyPlan).map_err(|error| decode_error(kv_len.py(), &error))
    }

    #[getter]
    fn kv_capacity(&self) -> u32 {
        self.decode.config().kv_capacity
    }

    #[getter]
    fn device(&self) -> u32 {
        self.decode.context().device()
    }

    #[getter]
    fn profile(&self) -> PyDeviceProfile {
        self.decode.profile().into()
    }

    #[getter]
    fn target(&self) -> &str {
        self.decode.target()
    }

    fn __repr__(&self) -> String {
        let config = self.decode.config();
        let geometry = &config.geometry;
        format!(
            "SplitKDecode(num_q_heads={}, num_kv_heads={}, kv_capacity={}, storage='{}', device={}, target='{}')",
            geometry.num_q_heads(),
            geometry.num_kv_heads(),
            config.kv_capacity,
            geometry.storage(),
            self.device(),
            self.target(),
        )
    }
}

/// Architectures that there is PTX for.
#[pyfunction]
pub fn ptx_targets(py: Python<'_>) -> PyResult<Vec<String>> {
    let set = PtxSet::embedded().map_err(|error| decode_error(py, &error))?;
    Ok(set.files().iter().map(splitk_cuda::PtxFile::target).collect())
}

/// The PTX of an architecture, as it is loaded.
#[pyfunction]
pub fn ptx_text(target: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let py = target.py();
    let set = PtxSet::embedded().map_err(|error| decode_error(py, &error))?;
    let name = word("target", target)?;
    set.file(&name).map(splitk_cuda::PtxFile::text).map_err(|error| decode_error(py, &error))
}

/// The architecture whose PTX a device of architecture `arch` runs.
#[pyfunction]
pub fn choose_target(arch: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = arch.py();
    let arch = integer("arch", arch, 0, u32::MAX)?;
    let choose = || PtxSet::embedded()?.choose(arch).map(|choice| choice.file.target());
    choose().map_err(|error| decode_error(py, &error))
}

fn make(
    config: &Config,
    device: Option<u32>,
    ptx_dir: Option<PathBuf>,
) -> Result<(SplitKDecode, DeviceBuffer), splitk_cuda::Error> {
    let opened;
    let set = match ptx_dir {
        None => PtxSet::embedded()?,
        Some(folder) => {
            opened = PtxSet::open(&folder)?;
            &opened
        }
    };
    let context = Arc::new(Context::choose(device)?);
    let decode = SplitKDecode::new(&context, set, config)?;
    let geometry = &config.geometry;
    let elements = u64::from(geometry.num_q_heads()) * u64::from(geometry.head_dim());
    Ok((decode, DeviceBuffer::new(&context, elements * F32_BYTES)?))
}

fn warn(py: Python<'_>, line: &str) -> PyResult<()> {
    let line = std::ffi::CString::new(line)?;
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &line, 1)
}
