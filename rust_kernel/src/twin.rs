//! `rust_kernel.twin`: the CPU twin, on NumPy's own memory.

use cpu_twin::{Fault, Inputs, KvElements, KvView, Options, PartialsView, Path, QueryView, TwinError};
use half::f16;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use splitk_plan::{Plan, Storage};

use crate::arguments::{BadArgument, integer, parsed_word, wrong_type, wrong_value};
use crate::arrays::{Strided, strided};
use crate::plan::PyPlan;

/// Most threads that a call may ask for.
const MAX_THREADS: usize = 1024;
const Q_SHAPE: &str = "shape [num_q_heads, head_dim]";
const KV_SHAPE: &str = "shape [rows, num_kv_heads, head_dim]";
const PAIR_SHAPE: &str = "shape [num_q_heads, n_splits]";
const ACC_SHAPE: &str = "shape [num_q_heads, n_splits, head_dim]";

/// `(m, s, acc)` as the partial kernel leaves them.
type PartialArrays<'py> = (Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray3<f32>>);

/// Attention of one position, as every arm computes it.
#[pyfunction]
#[pyo3(
    signature = (q, k, v, plan, *, threads = None, path = None, fault = None),
    text_signature = "(q, k, v, plan, *, threads=0, path='auto', fault=None)"
)]
#[expect(clippy::too_many_arguments, reason = "the inputs of a decode, and how to run it")]
pub fn decode<'py>(
    py: Python<'py>,
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    plan: &Bound<'py, PyAny>,
    threads: Option<&Bound<'py, PyAny>>,
    path: Option<&Bound<'py, PyAny>>,
    fault: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let plan = plan_of(plan)?;
    let inputs = inputs(q, k, v, &plan)?;
    let options = options(threads, path, fault)?;
    let out = py.detach(|| cpu_twin::decode(&inputs, &plan, &options)).map_err(|error| twin_error(&error))?;
    out.into_pyarray(py).reshape([plan.num_q_heads() as usize, plan.head_dim() as usize])
}

/// The partial kernel over its whole grid.
#[pyfunction]
#[pyo3(
    signature = (q, k, v, plan, *, threads = None, path = None, fault = None),
    text_signature = "(q, k, v, plan, *, threads=0, path='auto', fault=None)"
)]
#[expect(clippy::too_many_arguments, reason = "as `decode`")]
pub fn partial<'py>(
    py: Python<'py>,
    q: &Bound<'py, PyAny>,
    k: &Bound<'py, PyAny>,
    v: &Bound<'py, PyAny>,
    plan: &Bound<'py, PyAny>,
    threads: Option<&Bound<'py, PyAny>>,
    path: Option<&Bound<'py, PyAny>>,
    fault: Option<&Bound<'py, PyAny>>,
) -> PyResult<PartialArrays<'py>> {
    let plan = plan_of(plan)?;
    let inputs = inputs(q, k, v, &plan)?;
    let options = options(threads, path, fault)?;
    let parts = py.detach(|| cpu_twin::partial(&inputs, &plan, &options)).map_err(|error| twin_error(&error))?;
    let (heads, splits) = (plan.num_q_heads() as usize, plan.n_splits as usize);
    Ok((
        parts.m.into_pyarray(py).reshape([heads, splits])?,
        parts.s.into_pyarray(py).reshape([heads, splits])?,
        parts.acc.into_pyarray(py).reshape([heads, splits, plan.head_dim() as usize])?,
    ))
}

/// The reduce kernel over its whole grid.
#[pyfunction]
#[pyo3(
    signature = (m, s, acc, *, threads = None, path = None, fault = None),
    text_signature = "(m, s, acc, *, threads=0, path='auto', fault=None)"
)]
pub fn reduce<'py>(
    py: Python<'py>,
    m: &Bound<'py, PyAny>,
    s: &Bound<'py, PyAny>,
    acc: &Bound<'py, PyAny>,
    threads: Option<&Bound<'py, PyAny>>,
    path: Option<&Bound<'py, PyAny>>,
    fault: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let acc = dense("acc", strided("acc", acc, 3, ACC_SHAPE)?)?;
    let &[num_q_heads, n_splits, head_dim] = acc.shape else { unreachable!("it was asked for three axes") };
    let pairs = [num_q_heads, n_splits];
    let m = dense("m", of_shape("m", strided("m", m, 2, PAIR_SHAPE)?, &pairs)?)?;
    let s = dense("s", of_shape("s", strided("s", s, 2, PAIR_SHAPE)?, &pairs)?)?;
    let options = options(threads, path, fault)?;
    let view = PartialsView { m: m.elements, s: s.elements, acc: acc.elements, num_q_heads, n_splits, head_dim };
    let out = py.detach(|| cpu_twin::reduce(&view, &options)).map_err(|error| twin_error(&error))?;
    out.into_pyarray(py).reshape([num_q_heads, head_dim])
}

/// The exponential of the contract for each `x`.
#[pyfunction]
#[pyo3(signature = (x, *, path = None), text_signature = "(x, *, path='auto')")]
pub fn exp<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    path: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let x: Strided<'_, f32> = dense("x", strided("x", x, 1, "one axis")?)?;
    let options = options(None, path, None)?;
    let out = py.detach(|| cpu_twin::exp(x.elements, &options)).map_err(|error| twin_error(&error))?;
    Ok(out.into_pyarray(py))
}

/// The faults that can be planted.
#[pyfunction]
pub fn faults() -> Vec<&'static str> {
    Fault::ALL.iter().map(|fault| fault.name()).collect()
}

/// Whether this processor runs the SIMD path.
#[pyfunction]
pub fn simd_available() -> bool {
    cpu_twin::simd_available()
}

/// Digest of the sources of twin and planner that this module was built from.
#[pyfunction]
pub fn source_sha256() -> &'static str {
    env!("TWIN_SOURCE_SHA256")
}

fn plan_of(value: &Bound<'_, PyAny>) -> Result<Plan, BadArgument> {
    let plan = value.cast::<PyPlan>().map_err(|_| wrong_type("plan", value, "a rust_kernel.plan.Plan"))?;
    Ok(plan.get().0)
}

fn options(
    threads: Option<&Bound<'_, PyAny>>,
    path: Option<&Bound<'_, PyAny>>,
    fault: Option<&Bound<'_, PyAny>>,
) -> PyResult<Options> {
    Ok(Options {
        threads: threads.map_or(Ok(0), |value| integer("threads", value, 0, MAX_THREADS))?,
        path: path.map_or(Ok(Path::Auto), |value| parsed_word("path", value, twin_error))?,
        fault: fault.map_or(Ok(Fault::None), |value| parsed_word("fault", value, twin_error))?,
    })
}

fn inputs<'a>(
    q: &'a Bound<'_, PyAny>,
    k: &'a Bound<'_, PyAny>,
    v: &'a Bound<'_, PyAny>,
    plan: &Plan,
) -> Result<Inputs<'a>, BadArgument> {
    let (q_heads, head_dim) = (plan.num_q_heads() as usize, plan.head_dim() as usize);
    let q = of_shape("q", strided("q", q, 2, Q_SHAPE)?, &[q_heads, head_dim])?;
    inner_stride_1("q", &q.strides)?;
    let q = QueryView { elements: q.elements, stride_head: q.strides[0] };
    Ok(Inputs { q, k: kv_view("k", k, plan)?, v: kv_view("v", v, plan)? })
}

fn kv_view<'a>(field: &'static str, value: &'a Bound<'_, PyAny>, plan: &Plan) -> Result<KvView<'a>, BadArgument> {
    let (elements, shape, strides) = match plan.storage() {
        Storage::F32 => {
            let Strided { elements, shape, strides } = strided(field, value, 3, KV_SHAPE)?;
            (KvElements::F32(elements), shape, strides)
        }
        Storage::F16 => {
            let Strided { elements, shape, strides } = strided::<f16>(field, value, 3, KV_SHAPE)?;
            (KvElements::F16(elements), shape, strides)
        }
    };
    let (heads, head_dim, kv_len) = (plan.num_kv_heads() as usize, plan.head_dim() as usize, plan.kv_len as usize);
    if shape[0] < kv_len || shape[1..] != [heads, head_dim] {
        let allowed = format!("shape [rows, {heads}, {head_dim}] with at least {kv_len} rows");
        return Err(wrong_value(field, format!("of shape {shape:?}"), allowed));
    }
    inner_stride_1(field, &strides)?;
    Ok(KvView { elements, rows: shape[0], stride_row: strides[0], stride_head: strides[1] })
}

fn inner_stride_1(field: &'static str, strides: &[usize]) -> Result<(), BadArgument> {
    if strides.last() == Some(&1) {
        return Ok(());
    }
    Err(wrong_value(field, format!("an array with element strides {strides:?}"), "an inner stride of 1"))
}

fn of_shape<'a, T>(field: &'static str, array: Strided<'a, T>, shape: &[usize]) -> Result<Strided<'a, T>, BadArgument> {
    if array.shape == shape {
        return Ok(array);
    }
    Err(wrong_value(field, format!("of shape {:?}", array.shape), format!("shape {shape:?}")))
}

/// Refuses an array whose elements do not lie one after the other.
fn dense<'a, T>(field: &'static str, array: Strided<'a, T>) -> Result<Strided<'a, T>, BadArgument> {
    let mut expected = 1;
    for (length, stride) in array.shape.iter().zip(&array.strides).rev() {
        if *length > 1 && *stride != expected {
            let value = format!("an array with element strides {:?}", array.strides);
            return Err(wrong_value(field, value, "a dense array (numpy.ascontiguousarray makes one)"));
        }
        expected *= length;
    }
    Ok(array)
}

fn twin_error(error: &TwinError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
