//! `rust_kernel.plan`: the planner.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::PyString;
use splitk_plan::{DeviceProfile, Geometry, Plan, PlanError, PlanRequest, Policy, ScratchLayout, Tile};

use crate::arguments::{BadArgument, integer, word, wrong_type};
use crate::errors::plan_error;
use crate::table::table_of;

pub const DEFAULT_HEAD_DIM: u32 = 256;
pub const DEFAULT_STORAGE: &str = "f16";
pub const DEFAULT_POLICY: &str = splitk_plan::PolicyChoice::TABLE;
const DEFAULT_BOUND_POLICY: &str = "one-wave";
const DEFAULT_PROFILE: &str = "h200";

/// Grid or block of a launch.
type Dim3 = (u32, u32, u32);

/// The constants of a named device that decide splits and tiles.
#[pyclass(name = "DeviceProfile", module = "rust_kernel.plan", frozen, eq, hash, get_all)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyDeviceProfile {
    name: &'static str,
    arch: u32,
    sms: u32,
    blocks_per_sm: u32,
    title: &'static str,
}

impl From<DeviceProfile> for PyDeviceProfile {
    fn from(DeviceProfile { name, arch, sms, blocks_per_sm, title }: DeviceProfile) -> Self {
        Self { name, arch, sms, blocks_per_sm, title }
    }
}

#[pymethods]
impl PyDeviceProfile {
    fn __repr__(&self) -> String {
        let &Self { name, arch, sms, blocks_per_sm, title } = self;
        format!("DeviceProfile(name='{name}', arch={arch}, sms={sms}, blocks_per_sm={blocks_per_sm}, title='{title}')")
    }
}

/// How a block walks its split; part of what decides the bits.
#[pyclass(name = "Tile", module = "rust_kernel.plan", frozen, eq, hash, get_all)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyTile {
    warps: u32,
    rows: u32,
    vec: u32,
}

impl From<Tile> for PyTile {
    fn from(Tile { warps, rows, vec }: Tile) -> Self {
        Self { warps, rows, vec }
    }
}

#[pymethods]
impl PyTile {
    #[getter]
    fn name(&self) -> String {
        let &Self { warps, rows, vec } = self;
        Tile { warps, rows, vec }.name()
    }

    fn __repr__(&self) -> String {
        format!("Tile(warps={}, rows={}, vec={})", self.warps, self.rows, self.vec)
    }
}

/// The plan of one call, immutable.
#[pyclass(name = "Plan", module = "rust_kernel.plan", frozen, eq)]
#[derive(Clone, Copy, PartialEq)]
pub struct PyPlan(pub Plan);

#[pymethods]
impl PyPlan {
    #[getter]
    fn kv_len(&self) -> u32 {
        self.0.kv_len
    }

    #[getter]
    fn num_q_heads(&self) -> u32 {
        self.0.num_q_heads()
    }

    #[getter]
    fn num_kv_heads(&self) -> u32 {
        self.0.num_kv_heads()
    }

    #[getter]
    fn group_size(&self) -> u32 {
        self.0.group_size()
    }

    #[getter]
    fn head_dim(&self) -> u32 {
        self.0.head_dim()
    }

    #[getter]
    fn storage(&self) -> &'static str {
        self.0.storage().word()
    }

    #[getter]
    fn policy(&self) -> String {
        self.0.policy.to_string()
    }

    #[getter]
    fn profile(&self) -> PyDeviceProfile {
        self.0.profile.into()
    }

    #[getter]
    fn arch(&self) -> u32 {
        self.0.arch()
    }

    #[getter]
    fn s_target(&self) -> u32 {
        self.0.s_target
    }

    #[getter]
    fn chunk(&self) -> u32 {
        self.0.chunk
    }

    #[getter]
    fn n_splits(&self) -> u32 {
        self.0.n_splits
    }

    #[getter]
    fn tile(&self) -> PyTile {
        self.0.tile.into()
    }

    #[getter]
    fn table(&self) -> String {
        self.0.table.to_string()
    }

    #[getter]
    fn key(&self) -> String {
        self.0.key()
    }

    #[getter]
    fn partial_entry(&self) -> String {
        self.0.partial_entry()
    }

    #[getter]
    fn reduce_entry(&self) -> String {
        self.0.reduce_entry()
    }

    #[getter]
    fn naive_entry(&self) -> String {
        self.0.naive_entry()
    }

    #[getter]
    fn partial_launch(&self) -> (Dim3, Dim3) {
        as_tuples(self.0.partial_launch())
    }

    #[getter]
    fn reduce_launch(&self) -> (Dim3, Dim3) {
        as_tuples(self.0.reduce_launch())
    }

    #[getter]
    fn naive_launch(&self) -> (Dim3, Dim3) {
        as_tuples(self.0.naive_launch())
    }

    fn split_range(&self, split: &Bound<'_, PyAny>) -> PyResult<(u32, u32)> {
        let range = self.0.split_range(number("split", split, 0)?).map_err(|error| plan_error(split.py(), &error))?;
        Ok((range.start, range.end))
    }

    fn __hash__(&self) -> u64 {
        let mut state = DefaultHasher::new();
        self.0.hash(&mut state);
        state.finish()
    }

    fn __repr__(&self) -> String {
        let plan = &self.0;
        format!(
            "Plan(kv_len={}, num_q_heads={}, num_kv_heads={}, head_dim={}, storage='{}', policy='{}', profile='{}', \
             chunk={}, n_splits={}, tile='{}')",
            plan.kv_len,
            plan.num_q_heads(),
            plan.num_kv_heads(),
            plan.head_dim(),
            plan.storage(),
            plan.policy,
            plan.profile.name,
            plan.chunk,
            plan.n_splits,
            plan.tile,
        )
    }
}

/// Where the scratch arrays lie in one buffer; offsets and sizes are in bytes.
#[pyclass(name = "ScratchLayout", module = "rust_kernel.plan", frozen, eq, hash, get_all)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyScratchLayout {
    max_splits: u32,
    part_m_offset: u64,
    part_m_bytes: u64,
    part_s_offset: u64,
    part_s_bytes: u64,
    part_acc_offset: u64,
    part_acc_bytes: u64,
    total_bytes: u64,
}

#[pymethods]
impl PyScratchLayout {
    fn __repr__(&self) -> String {
        format!("ScratchLayout(max_splits={}, total_bytes={})", self.max_splits, self.total_bytes)
    }
}

/// Plans a call; raises `PlanError` when it is not supported.
#[pyfunction]
#[pyo3(
    signature = (*, kv_len, num_q_heads, num_kv_heads, head_dim=None, storage=None, policy=None, profile=None,
                 tiles=None),
    text_signature = "(*, kv_len, num_q_heads, num_kv_heads, head_dim=256, storage='f16', policy='table', \
                      profile='h200', tiles=None)"
)]
#[expect(clippy::too_many_arguments, reason = "as many numbers as the contract plans from")]
pub fn make_plan(
    py: Python<'_>,
    kv_len: &Bound<'_, PyAny>,
    num_q_heads: &Bound<'_, PyAny>,
    num_kv_heads: &Bound<'_, PyAny>,
    head_dim: Option<&Bound<'_, PyAny>>,
    storage: Option<&Bound<'_, PyAny>>,
    policy: Option<&Bound<'_, PyAny>>,
    profile: Option<&Bound<'_, PyAny>>,
    tiles: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyPlan> {
    let request = PlanRequest {
        kv_len: count("kv_len", kv_len)?,
        num_q_heads: count("num_q_heads", num_q_heads)?,
        num_kv_heads: count("num_kv_heads", num_kv_heads)?,
        head_dim: head_dim.map_or(Ok(DEFAULT_HEAD_DIM), |value| count("head_dim", value))?,
        storage: parsed("storage", storage, DEFAULT_STORAGE, py)?,
        policy: parsed("policy", policy, DEFAULT_POLICY, py)?,
        profile: device_profile(profile, py)?,
    };
    Plan::by_table(&request, &*table_of(tiles)?).map(PyPlan).map_err(|error| plan_error(py, &error))
}

/// Most splits that any call with `1 <= kv_len <= kv_capacity` has.
#[pyfunction]
#[pyo3(
    signature = (*, kv_capacity, num_kv_heads, policy=None, profile=None),
    text_signature = "(*, kv_capacity, num_kv_heads, policy='one-wave', profile='h200')"
)]
pub fn max_splits(
    py: Python<'_>,
    kv_capacity: &Bound<'_, PyAny>,
    num_kv_heads: &Bound<'_, PyAny>,
    policy: Option<&Bound<'_, PyAny>>,
    profile: Option<&Bound<'_, PyAny>>,
) -> PyResult<u32> {
    let (kv_capacity, num_kv_heads) = (count("kv_capacity", kv_capacity)?, count("num_kv_heads", num_kv_heads)?);
    let (policy, profile) = (parsed("policy", policy, DEFAULT_BOUND_POLICY, py)?, device_profile(profile, py)?);
    splitk_plan::max_splits(kv_capacity, num_kv_heads, policy, &profile).map_err(|error| plan_error(py, &error))
}

/// The scratch that every call with `kv_len <= kv_capacity` fits into.
#[pyfunction]
#[pyo3(
    signature = (*, kv_capacity, num_q_heads, num_kv_heads, head_dim=None, storage=None, policy=None, profile=None,
                 tiles=None),
    text_signature = "(*, kv_capacity, num_q_heads, num_kv_heads, head_dim=256, storage='f16', policy='table', \
                      profile='h200', tiles=None)"
)]
#[expect(clippy::too_many_arguments, reason = "as many numbers as the contract plans from")]
pub fn scratch_layout(
    py: Python<'_>,
    kv_capacity: &Bound<'_, PyAny>,
    num_q_heads: &Bound<'_, PyAny>,
    num_kv_heads: &Bound<'_, PyAny>,
    head_dim: Option<&Bound<'_, PyAny>>,
    storage: Option<&Bound<'_, PyAny>>,
    policy: Option<&Bound<'_, PyAny>>,
    profile: Option<&Bound<'_, PyAny>>,
    tiles: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyScratchLayout> {
    let kv_capacity = count("kv_capacity", kv_capacity)?;
    let (num_q_heads, num_kv_heads) = (count("num_q_heads", num_q_heads)?, count("num_kv_heads", num_kv_heads)?);
    let head_dim = head_dim.map_or(Ok(DEFAULT_HEAD_DIM), |value| count("head_dim", value))?;
    let (policy, profile) = (parsed("policy", policy, DEFAULT_POLICY, py)?, device_profile(profile, py)?);
    // The scratch is f32 whatever K and V are, but the table's policy may depend on their storage.
    let storage = parsed("storage", storage, DEFAULT_STORAGE, py)?;
    let table = table_of(tiles)?;
    let layout = Geometry::new(num_q_heads, num_kv_heads, head_dim, storage)
        .and_then(|geometry| ScratchLayout::new(&geometry, kv_capacity, policy, &profile, &table))
        .map_err(|error| plan_error(py, &error))?;
    Ok(PyScratchLayout {
        max_splits: layout.max_splits,
        part_m_offset: layout.part_m_offset,
        part_m_bytes: layout.part_m_bytes,
        part_s_offset: layout.part_s_offset,
        part_s_bytes: layout.part_s_bytes,
        part_acc_offset: layout.part_acc_offset,
        part_acc_bytes: layout.part_acc_bytes,
        total_bytes: layout.total_bytes,
    })
}

/// Every known device profile.
#[pyfunction]
pub fn profiles() -> Vec<PyDeviceProfile> {
    splitk_plan::profile::PROFILES.iter().copied().map(PyDeviceProfile::from).collect()
}

/// How every split policy is written, `N` standing for its argument.
#[pyfunction]
pub fn policies() -> Vec<String> {
    Policy::spellings().collect()
}

fn as_tuples((grid, block): ([u32; 3], [u32; 3])) -> (Dim3, Dim3) {
    (grid.into(), block.into())
}

/// A number of a call; what is allowed of it beyond this is for the planner to say.
pub fn count(field: &'static str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    number(field, value, 1)
}

fn number(field: &'static str, value: &Bound<'_, PyAny>, lowest: u32) -> PyResult<u32> {
    integer(field, value, lowest, u32::MAX).map_err(|error| match error {
        BadArgument::Value { field, value: text, allowed } => {
            plan_error(value.py(), &PlanError::new(field, text, allowed))
        }
        other @ BadArgument::Type { .. } => other.into(),
    })
}

/// A word of one of the planner's registries, or the default's.
pub fn parsed<T: FromStr<Err = PlanError>>(
    field: &'static str,
    value: Option<&Bound<'_, PyAny>>,
    default: &'static str,
    py: Python<'_>,
) -> PyResult<T> {
    let given = value.map(|value| word(field, value)).transpose()?;
    given.as_deref().unwrap_or(default).parse().map_err(|error| plan_error(py, &error))
}

/// A profile, by name or as [`profiles`] gives it.
pub fn device_profile(value: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<DeviceProfile> {
    let Some(value) = value else { return parsed("profile", None, DEFAULT_PROFILE, py) };
    if let Ok(profile) = value.cast::<PyDeviceProfile>() {
        return profile.get().name.parse().map_err(|error| plan_error(py, &error));
    }
    if value.is_instance_of::<PyString>() {
        return parsed("profile", Some(value), DEFAULT_PROFILE, py);
    }
    Err(wrong_type("profile", value, "a str or a DeviceProfile").into())
}
