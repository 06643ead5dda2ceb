"""What a GPU takes: the driver, CuPy, NVML, and nobody else."""

from __future__ import annotations

import ctypes

from diffcheck.ab.lock import gpu_lock, lock_path
from diffcheck.ab.nvml import Nvml, open_monitor
from diffcheck.doctor.model import Finding
from diffcheck.errors import DiffcheckError
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.executors.programmatic import bindings_version
from diffcheck.experiment.load import experiment_names, load_experiment, load_hosts

_OLDEST = 12_000
_NO_GPU = "run it on a machine with an NVIDIA GPU"


def driver() -> Finding:
    """The CUDA driver and its devices."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return _lacks("driver", "no NVIDIA driver (libcuda.so.1)", "install NVIDIA's driver; " + _NO_GPU)
    code = int(library.cuInit(0))
    count, version = ctypes.c_int(0), ctypes.c_int(0)
    if code or library.cuDeviceGetCount(ctypes.byref(count)) or library.cuDriverGetVersion(ctypes.byref(version)):
        return _lacks("driver", f"the driver does not start (CUDA error {code})", "nvidia-smi, and what it says")
    supported = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    if not count.value:
        return _lacks("driver", f"{supported}, and no device is visible", "unset CUDA_VISIBLE_DEVICES, or " + _NO_GPU)
    if version.value < _OLDEST:
        return _lacks("driver", f"supports {supported} only; CuPy needs 12", "install a newer driver of NVIDIA")
    return Finding(name="driver", need="gpu", state="ok", detail=f"{supported}, {count.value} visible")


def cupy() -> Finding:
    """CuPy, and the device that it would use."""
    executor = GpuExecutor()
    available = executor.available()
    if not available:
        return _lacks("CuPy", available.reason, "make setup, where there is a driver: it picks the CuPy for it")
    facts = executor.device_facts()
    detail = f"CuPy {facts['cupy_version']}, {facts['device']}, {facts['arch']}, {facts['sms']} SMs"
    return Finding(name="CuPy", need="gpu", state="ok", detail=detail)


def bindings() -> Finding:
    """NVIDIA's cuda-bindings, which launches what CuPy cannot."""
    version = bindings_version()
    if version is None:
        why = "not installed: kernels that wait for the one before them are launched with it"
        return _lacks("cuda-bindings", why, "make setup, where there is a driver: it comes with CuPy")
    return Finding(name="cuda-bindings", need="gpu", state="ok", detail=f"cuda-bindings {version}")


def architecture() -> Finding:
    """Whether a receipt of this device could count for a verdict."""
    executor = GpuExecutor()
    wanted = {name: load_experiment(name).content.required_architectures for name in experiment_names()}
    required = sorted({arch for archs in wanted.values() for arch in archs})
    if not executor.available():
        return _note("architecture", f"no device; verdicts ask for {', '.join(required)}")
    arch = str(executor.device_facts()["arch"])
    hosts = [host.id for host in load_hosts().hosts if host.arch == arch]
    asking = [name for name, archs in wanted.items() if arch in archs]
    if not asking:
        return _note("architecture", f"{arch} is advisory; verdicts ask for {', '.join(required)}")
    if not hosts:
        detail, remedy = (
            f"{arch} counts for {', '.join(asking)}, and hosts.toml has none of it",
            "add an id to hosts.toml",
        )
        return Finding(name="architecture", need="verdict", state="lacks", detail=detail, remedy=remedy)
    commands = ", ".join(f"diffcheck ab {name} --host {hosts[0]}" for name in asking)
    return Finding(name="architecture", need="verdict", state="ok", detail=f"{arch} counts: {commands}")


def nvml() -> Finding:
    """NVML, and what the device supports of it."""
    try:
        import pynvml  # noqa: F401
    except ImportError:
        remedy = "make setup, where there is a driver: it comes with CuPy"
        return _verdict("NVML", "nvidia-ml-py is not installed: nobody knows who else is on the GPU", remedy)
    device = _device()
    if isinstance(device, str):
        return _note("NVML", f"installed; {device}")
    missing = [name for name, value in device.read().model_dump().items() if value is None]
    if device.processes() is None:
        return _verdict("NVML", "does not say who else is on the GPU, which a verdict asks", "run outside a container")
    said = f"; not supported here: {', '.join(missing)}" if missing else ""
    return Finding(name="NVML", need="verdict", state="ok", detail=f"driver {device.driver() or 'unknown'}{said}")


def clocks() -> Finding:
    """Whether the clocks can be locked. The A/B does not need it: both arms meet every clock alike."""
    device = _device()
    if isinstance(device, str):
        return _note("clocks", device)
    lockable = device.lockable_clocks()
    if lockable is None:
        return _note("clocks", "the device does not say whether they can be locked; the A/B does not need it")
    able = "can" if lockable else "cannot"
    return _note("clocks", f"this user {able} lock them (nvidia-smi -lgc); the A/B does not need it")


def others() -> Finding:
    """Other processes on the GPU."""
    device = _device()
    if isinstance(device, str):
        return _note("other processes", device)
    users = device.processes()
    if users is None:
        return _note("other processes", "NVML does not say")
    live = sum(user.kind == "compute" and user.state == "live" for user in users)
    if live:
        return _verdict("other processes", f"{live} live compute processes on the GPU", "nvidia-smi, then end them")
    detail = f"no live compute process ({len(users)} other contexts)" if users else "nobody else"
    return Finding(name="other processes", need="verdict", state="ok", detail=detail)


def lock() -> Finding:
    """Whether a run could take the GPU's lock."""
    address = _address()
    if address is None:
        return _note("GPU lock", "no device to lock")
    path = lock_path(None, address)
    try:
        with gpu_lock(path):
            pass
    except DiffcheckError as error:
        return Finding(name="GPU lock", need="gpu", state="lacks", detail=str(error), remedy="wait for the other run")
    return Finding(name="GPU lock", need="gpu", state="ok", detail=f"{path.name} is free")


CHECKS = (driver, cupy, bindings, architecture, nvml, clocks, others, lock)


def _address() -> str | None:
    if not GpuExecutor().available():
        return None
    import cupy as cp

    return str(cp.cuda.runtime.deviceGetPCIBusId(cp.cuda.Device().id))


def _device() -> Nvml | str:
    """Return NVML's view of the device that CuPy would use, or why there is none."""
    address = _address()
    if address is None:
        return "no device to ask about"
    monitor = open_monitor(address)
    return monitor if isinstance(monitor, Nvml) else "NVML does not start"


def _lacks(name: str, detail: str, remedy: str) -> Finding:
    return Finding(name=name, need="gpu", state="lacks", detail=detail, remedy=remedy)


def _verdict(name: str, detail: str, remedy: str) -> Finding:
    return Finding(name=name, need="verdict", state="lacks", detail=detail, remedy=remedy)


def _note(name: str, detail: str) -> Finding:
    return Finding(name=name, need="verdict", state="note", detail=detail)
