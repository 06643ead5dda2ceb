//! `rust_kernel.ptx`: the PTX machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, mpsc};
use std::time::Duration;

use numpy::{PyArrayDescr, PyArrayDescrMethods, PyUntypedArray};
use ptx_machine::{AllocOptions, Arg, Entry, LaunchConfig, LaunchStats, Memory, Module, Path};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyFloat, PyString, PyTuple};

use crate::arguments::{BadArgument, boolean, integer, one_of, shown, word, wrong_type, wrong_value};
use crate::arrays;
use crate::errors::{launch_error, memory_error, ptx_error};

/// Most host threads that a launch may be given.
const MAX_THREADS: usize = 1024;
/// Most bytes that are allocated without an array to copy: far above any scratch, and below what would end the process.
const MAX_ALLOCATION: usize = 16 << 30;
/// How often a launch looks for signals.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);
const DIM3: &str = "a whole number, or a tuple of 1 to 3, each from 1 to 4294967295";

/// A PTX module, parsed and checked.
#[pyclass(name = "PtxModule", module = "rust_kernel.ptx", frozen)]
pub struct PyPtxModule(Module);

#[pymethods]
impl PyPtxModule {
    #[new]
    #[pyo3(signature = (text, name = "<ptx>", strict = true))]
    fn new(py: Python<'_>, text: &Bound<'_, PyAny>, name: &str, strict: bool) -> PyResult<Self> {
        let source = if let Ok(bytes) = text.cast::<PyBytes>() {
            bytes.as_bytes()
        } else {
            let text = text.cast::<PyString>().map_err(|_| wrong_type("text", text, "a str or bytes"))?;
            text.to_str()?.as_bytes()
        };
        py.detach(|| Module::parse(source, name, strict)).map(Self).map_err(|error| ptx_error(py, &error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn version(&self) -> (u32, u32) {
        self.0.version()
    }

    #[getter]
    fn target(&self) -> &str {
        self.0.target()
    }

    #[getter]
    fn strict(&self) -> bool {
        self.0.strict()
    }

    #[getter]
    fn entries(&self) -> Vec<PyEntryInfo> {
        self.0.entries().iter().map(PyEntryInfo::from).collect()
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.0.entries().iter().map(|entry| entry.name.as_str()).collect();
        format!("PtxModule(name={:?}, target='{}', entries={names:?})", self.0.name(), self.0.target())
    }
}

/// One kernel of a module.
#[pyclass(name = "EntryInfo", module = "rust_kernel.ptx", frozen, get_all)]
pub struct PyEntryInfo {
    name: String,
    line: u32,
    params: Vec<(String, String, u32)>,
    shared_bytes: u32,
    uses_dynamic_shared: bool,
    local_bytes: u32,
    registers_32: u32,
    registers_64: u32,
    predicates: u32,
    instructions: u32,
    required_threads: Option<(u32, u32, u32)>,
    max_threads: Option<u32>,
}

impl From<&Entry> for PyEntryInfo {
    fn from(entry: &Entry) -> Self {
        Self {
            name: entry.name.clone(),
            line: entry.line,
            params: entry.params.iter().map(|param| (param.name.clone(), param.ty.clone(), param.align)).collect(),
            shared_bytes: entry.static_shared_bytes,
            uses_dynamic_shared: entry.uses_dynamic_shared,
            local_bytes: entry.local_bytes,
            registers_32: entry.registers.b32,
            registers_64: entry.registers.b64,
            predicates: entry.registers.pred,
            instructions: entry.instructions,
            required_threads: entry.required_threads.map(Into::into),
            max_threads: entry.max_threads,
        }
    }
}

#[pymethods]
impl PyEntryInfo {
    fn __repr__(&self) -> String {
        let types: Vec<&str> = self.params.iter().map(|(_, ty, _)| ty.as_str()).collect();
        format!("EntryInfo(name='{}', line={}, params={types:?})", self.name, self.line)
    }
}

/// Global memory of the machine.
#[pyclass(name = "Memory", module = "rust_kernel.ptx", frozen)]
pub struct PyMemory(Mutex<Memory>);

impl PyMemory {
    /// Runs `work` on the memory, once no launch uses it. A launch that panicked leaves it as it was, so a poisoned lock
    /// is of no interest.
    fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl PyMemory {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Memory::new()))
    }

    #[pyo3(signature = (array, *, name, initialised = true, writable = true, scratch = false))]
    fn alloc(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        name: &str,
        initialised: bool,
        writable: bool,
        scratch: bool,
    ) -> PyResult<u64> {
        let bytes = host_bytes("array", array)?;
        let options = AllocOptions { initialised, writable, scratch };
        self.with(py, |memory| memory.alloc(name, bytes, options)).map_err(|error| memory_error(&error))
    }

    #[pyo3(signature = (nbytes, *, name, scratch = false))]
    fn alloc_uninit(&self, py: Python<'_>, nbytes: &Bound<'_, PyAny>, name: &str, scratch: bool) -> PyResult<u64> {
        let nbytes = integer("nbytes", nbytes, 0, MAX_ALLOCATION)?;
        let alloc = if scratch { Memory::alloc_scratch } else { Memory::alloc_uninit };
        self.with(py, |memory| alloc(memory, name, nbytes)).map_err(|error| memory_error(&error))
    }

    fn read<'py>(
        &self,
        py: Python<'py>,
        address: &Bound<'py, PyAny>,
        dtype: &Bound<'py, PyAny>,
        shape: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let address = device_address(address)?;
        let dtype = PyArrayDescr::new(py, dtype)?;
        arrays::require_plain("dtype", &dtype)?;
        let nbytes = byte_size(shape, dtype.itemsize())?;
        // Asked before the array is made: a range that no allocation holds may be larger than the host's memory.
        self.with(py, |memory| memory.unwritten(address, nbytes)).map_err(|error| memory_error(&error))?;
        let array = py.import(intern!(py, "numpy"))?.call_method1(intern!(py, "empty"), (shape, dtype))?;
        arrays::fill(array.cast::<PyUntypedArray>()?, |bytes| {
            self.with(py, |memory| memory.read(address, bytes)).map_err(|error| memory_error(&error))
        })?;
        Ok(array)
    }

    fn write(&self, py: Python<'_>, address: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let (address, bytes) = (device_address(address)?, host_bytes("array", array)?);
        self.with(py, |memory| memory.write(address, bytes)).map_err(|error| memory_error(&error))
    }

    #[pyo3(signature = (*, writes, reads))]
    fn follow(&self, py: Python<'_>, writes: &Bound<'_, PyAny>, reads: &Bound<'_, PyAny>) -> PyResult<()> {
        let (writes, reads) = (device_addresses("writes", writes)?, device_addresses("reads", reads)?);
        self.with(py, |memory| memory.follow(&writes, &reads)).map_err(|error| memory_error(&error))
    }

    fn unwritten(&self, py: Python<'_>, address: &Bound<'_, PyAny>, nbytes: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (address, nbytes) = (device_address(address)?, size("nbytes", nbytes)?);
        self.with(py, |memory| memory.unwritten(address, nbytes)).map_err(|error| memory_error(&error))
    }
}

/// What a launch did.
#[pyclass(name = "LaunchStats", module = "rust_kernel.ptx", frozen, get_all, eq)]
#[derive(PartialEq, Eq)]
pub struct PyLaunchStats {
    blocks: u64,
    warps: u64,
    instructions: u64,
    thread_instructions: u64,
    divergent_branches: u64,
    barriers: u64,
    approximate: bool,
}

impl From<LaunchStats> for PyLaunchStats {
    fn from(stats: LaunchStats) -> Self {
        Self {
            blocks: stats.blocks,
            warps: stats.warps,
            instructions: stats.instructions,
            thread_instructions: stats.thread_instructions,
            divergent_branches: stats.divergent_branches,
            barriers: stats.barriers,
            approximate: stats.approximate,
        }
    }
}

#[pymethods]
impl PyLaunchStats {
    fn __repr__(&self) -> String {
        format!("LaunchStats(blocks={}, warps={}, instructions={})", self.blocks, self.warps, self.instructions)
    }
}

/// Runs a kernel and waits for it.
#[pyfunction]
#[pyo3(signature = (
    module, entry, memory, *, grid, block, args, dynamic_shared = None, threads = None, step_limit = None, path = None,
    races = None, schedule = None, programmatic = None
), text_signature = "(module, entry, memory, *, grid, block, args, dynamic_shared=0, threads=0, step_limit=None, \
                     path='auto', races=True, schedule=None, programmatic=False)")]
#[expect(clippy::too_many_arguments, reason = "a launch has as many, and they are named")]
pub fn launch(
    py: Python<'_>,
    module: &Bound<'_, PyAny>,
    entry: &str,
    memory: &Bound<'_, PyAny>,
    grid: &Bound<'_, PyAny>,
    block: &Bound<'_, PyAny>,
    args: &Bound<'_, PyAny>,
    dynamic_shared: Option<&Bound<'_, PyAny>>,
    threads: Option<&Bound<'_, PyAny>>,
    step_limit: Option<&Bound<'_, PyAny>>,
    path: Option<&Bound<'_, PyAny>>,
    races: Option<&Bound<'_, PyAny>>,
    schedule: Option<&Bound<'_, PyAny>>,
    programmatic: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyLaunchStats> {
    let module = module.cast::<PyPtxModule>().map_err(|_| wrong_type("module", module, "a PtxModule"))?.get();
    let memory = memory.cast::<PyMemory>().map_err(|_| wrong_type("memory", memory, "a Memory"))?.get();
    let cancel = Arc::new(AtomicBool::new(false));
    let config = LaunchConfig {
        dynamic_shared: dynamic_shared.map_or(Ok(0), |value| integer("dynamic_shared", value, 0, u32::MAX))?,
        threads: threads.map_or(Ok(0), |value| integer("threads", value, 0, MAX_THREADS))?,
        step_limit: step_limit.map(|value| integer("step_limit", value, 1, u64::MAX)).transpose()?,
        path: path.map_or(Ok(Path::Auto), |value| one_of("path", value, PATHS))?,
        races: races.map_or(Ok(true), |value| boolean("races", value))?,
        schedule: schedule.map(|value| integer("schedule", value, 0, u64::MAX)).transpose()?,
        programmatic: programmatic.map_or(Ok(false), |value| boolean("programmatic", value))?,
        cancel: Some(cancel.clone()),
        ..LaunchConfig::new(dim3("grid", grid)?, dim3("block", block)?)
    };
    let args = arguments(args)?;
    let run = || {
        let mut memory = memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        ptx_machine::launch(&module.0, entry, &mut memory, &config, &args)
    };
    py.detach(|| interruptible(&cancel, run))?.map(PyLaunchStats::from).map_err(|error| launch_error(py, &error))
}

/// Runs `work` on a thread of its own, and has it end when a signal's handler raises, as that of Ctrl-C does. To be
/// called without the interpreter. Signals are the main thread's: elsewhere, this only waits.
#[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is not general over lifetimes")]
fn interruptible<T: Send>(cancel: &AtomicBool, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel();
        let worker = scope.spawn(move || {
            let result = work();
            // The receiver waits for this, or for the thread; it has nothing else to say about a channel that is gone.
            let _ = done.send(());
            result
        });
        let mut raised = Ok(());
        while raised.is_ok() && is_done.recv_timeout(SIGNAL_PERIOD) == Err(mpsc::RecvTimeoutError::Timeout) {
            raised = Python::attach(|py| py.check_signals());
        }
        cancel.store(raised.is_err(), Ordering::Relaxed);
        let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        raised.map(|()| result)
    })
}

/// Version of the machine, with the start of the digest of its sources.
#[pyfunction]
pub fn machine_version() -> &'static str {
    const DIGEST: &str = env!("MACHINE_SOURCE_SHA256");
    static VERSION: LazyLock<String> =
        LazyLock::new(|| format!("{}+{}", env!("CARGO_PKG_VERSION"), &DIGEST[..DIGEST_SHOWN]));
    &VERSION
}

/// Hexadecimal digits of the digest in a version.
const DIGEST_SHOWN: usize = 8;
const PATHS: &[(&str, Path)] = &[("auto", Path::Auto), ("portable", Path::Portable)];

fn device_address(value: &Bound<'_, PyAny>) -> Result<u64, BadArgument> {
    integer("address", value, 0, u64::MAX)
}

fn device_addresses(field: &'static str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let wrong = || wrong_type(field, value, "a sequence of int");
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(wrong().into());
    }
    value.try_iter().map_err(|_| wrong())?.map(|one| Ok(integer(field, &one?, 0, u64::MAX)?)).collect()
}

fn size(field: &'static str, value: &Bound<'_, PyAny>) -> Result<usize, BadArgument> {
    integer(field, value, 0, isize::MAX as usize)
}

/// The bytes of `bytes` or of an array.
fn host_bytes<'a>(field: &'static str, value: &'a Bound<'_, PyAny>) -> Result<&'a [u8], BadArgument> {
    match value.cast::<PyBytes>() {
        Ok(bytes) => Ok(bytes.as_bytes()),
        Err(_) => arrays::bytes(field, arrays::array(field, value, "a numpy.ndarray or bytes")?),
    }
}

/// Bytes of an array of `shape`, a whole number or a tuple of them.
fn byte_size(shape: &Bound<'_, PyAny>, itemsize: usize) -> Result<usize, BadArgument> {
    let lengths = match shape.cast::<PyTuple>() {
        Ok(tuple) => tuple.iter().map(|length| size("shape", &length)).collect::<Result<Vec<_>, _>>()?,
        Err(_) => vec![size("shape", shape)?],
    };
    lengths
        .iter()
        .try_fold(itemsize, |bytes, length| bytes.checked_mul(*length))
        .ok_or_else(|| wrong_value("shape", shown(shape), "an array that fits into an address space"))
}

/// Grid or block: a number, or up to three.
fn dim3(field: &'static str, value: &Bound<'_, PyAny>) -> Result<[u32; 3], BadArgument> {
    let Ok(tuple) = value.cast::<PyTuple>() else {
        let length = integer(field, value, 1, u32::MAX).map_err(|bad| bad.allowing(DIM3))?;
        return Ok([length, 1, 1]);
    };
    let mut lengths = [1; 3];
    if !(1..=3).contains(&tuple.len()) {
        return Err(wrong_value(field, shown(value), DIM3));
    }
    for (length, given) in lengths.iter_mut().zip(tuple.iter()) {
        *length = integer(field, &given, 1, u32::MAX).map_err(|bad| bad.allowing(DIM3))?;
    }
    Ok(lengths)
}

/// The arguments of a kernel, in order.
fn arguments(args: &Bound<'_, PyAny>) -> PyResult<Vec<Arg>> {
    let allowed = "a sequence of int, float, bytes or (type, value) tuples";
    if args.is_instance_of::<PyString>() || args.is_instance_of::<PyBytes>() {
        return Err(wrong_type("args", args, allowed).into());
    }
    args.try_iter().map_err(|_| wrong_type("args", args, allowed))?.map(|arg| argument(&arg?)).collect()
}

fn argument(value: &Bound<'_, PyAny>) -> PyResult<Arg> {
    let allowed = "an int, float, bytes or (type, value) tuple";
    if let Ok(pair) = value.cast::<PyTuple>() {
        if pair.len() != 2 {
            return Err(wrong_value("args", shown(value), allowed).into());
        }
        let (ty, value) = (pair.get_item(0)?, pair.get_item(1)?);
        return argument(&value)?.typed(&word("args", &ty)?).map_err(|error| launch_error(value.py(), &error));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Arg::bytes(bytes.as_bytes().to_vec()));
    }
    if let Ok(number) = integer("args", value, i128::MIN, i128::MAX) {
        return Ok(Arg::int(number));
    }
    if value.is_instance_of::<PyFloat>() || value.hasattr(intern!(value.py(), "__float__"))? {
        return Ok(Arg::float(value.extract()?));
    }
    Err(wrong_type("args", value, allowed).into())
}
