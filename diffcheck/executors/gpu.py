"""A CUDA device through CuPy: the driver assembles and runs the same PTX. Tier: measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from diffcheck.assemble.ptxas import AssembleError, ptx_version
from diffcheck.executors.base import Availability, ExecutionError, Tier
from diffcheck.executors.builds import Build, assembler, loadable
from diffcheck.executors.program import Address, Outcome, Program, Step
from diffcheck.executors.programmatic import ready_programmatic
from diffcheck.planning import planner_profiles, profile_for

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_SHARED_CARVEOUT = 9  # CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, in percent


@cache
def _availability() -> Availability:
    try:
        import cupy
    except ImportError:
        return Availability(False, "CuPy is not installed (the extras cuda12 and cuda13 bring it)")
    except Exception as error:  # a broken CUDA installation fails inside CuPy's import in many ways
        return Availability(False, f"CuPy cannot be imported: {_line(error)}")
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        return Availability(False, f"no usable CUDA driver: {_line(error)}")
    if count == 0:
        return Availability(False, "no CUDA device is visible")
    return Availability(True)


class GpuExecutor:
    """Runs programs on the current CUDA device (device 0 of those that CUDA_VISIBLE_DEVICES leaves visible).

    Every buffer is uploaded whole, with its guard words and poison, and read back whole for the caller to check.
    `build` says who assembles the PTX.
    """

    name: str = "gpu"
    tier: Tier = "measured"

    def __init__(self, build: Build = "jit") -> None:
        self.build: Build = build

    def available(self) -> Availability:
        """Tell whether CuPy, a driver and a device are there."""
        return _availability()

    def default_target(self) -> str:
        """Return the newest target that the device can run: PTX for an older architecture runs on a newer one."""
        from py_builder_kernel import TARGETS

        capability = self.capability()
        usable = [target for target in TARGETS if int(target.removeprefix("sm_")) <= capability]
        if not usable:
            raise ExecutionError(f"device of architecture sm_{capability} is older than every target")
        return max(usable, key=lambda target: int(target.removeprefix("sm_")))

    def default_profile(self) -> str:
        """Return the profile with the device's architecture and number of SMs, or the generic one."""
        sms = int(self._device().attributes["MultiProcessorCount"])
        return profile_for(f"sm_{self.capability()}", sms, planner_profiles())

    def capability(self) -> int:
        """Return the device's architecture as a number, 90 for sm_90."""
        return int(self._device().compute_capability)

    def device_facts(self) -> dict[str, str | int]:
        """Return what evidence says of the device: name, architecture, SMs, driver, CUDA runtime and CuPy versions."""
        import cupy

        runtime = cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self._device().id)
        return {
            "device": bytes(properties["name"]).decode(),
            "arch": f"sm_{self.capability()}",
            "sms": int(properties["multiProcessorCount"]),
            "driver_version": _cuda_version(runtime.driverGetVersion()),
            "runtime_version": _cuda_version(runtime.runtimeGetVersion()),
            "cupy_version": str(cupy.__version__),
        }

    def build_facts(self) -> dict[str, str | None]:
        """Return what a receipt says of the build: its name, and ptxas' version where ptxas makes it."""
        return {"build": self.build, "ptxas_version": assembler(self.build)}

    def _device(self) -> Any:
        import cupy

        return cupy.cuda.Device()

    def run(self, program: Program) -> Outcome:
        """Run a program; see `Executor.run`. `Outcome.seconds` is host time, transfers excluded: no measurement."""
        import cupy

        self._device().use()  # makes the context current in this thread, which need not be the one that loaded a module
        memory = {region.buffer.name: cupy.asarray(region.buffer.raw) for region in program.regions()}
        bases = {name: int(words.data.ptr) for name, words in memory.items()}
        stream = cupy.cuda.get_current_stream()
        stream.synchronize()
        start = time.perf_counter()
        try:
            module = self._load(program)
            for step in program.steps:
                launch(module.get_function(step.entry), step, bases)
            stream.synchronize()
            seconds = time.perf_counter() - start
            after = {name: words.get() for name, words in memory.items()}
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
            raise ExecutionError(f"{program.name}: {_line(error)}") from error
        out = program.outputs.out
        return Outcome(out.over(after[out.buffer.name]), after, seconds)

    def _load(self, program: Program) -> Any:
        import cupy

        try:
            return load_module(program.ptx, self.build)
        except AssembleError as error:
            raise ExecutionError(f"{program.name}: {error}") from error
        except cupy.cuda.driver.CUDADriverError as error:
            # Versions are what a refusal is mostly about.
            newest = _cuda_version(cupy.cuda.runtime.driverGetVersion())
            versions = f"PTX {ptx_version(program.ptx)}, driver for CUDA {newest}"
            raise ExecutionError(f"{program.name}: {_line(error)} ({versions})") from error


@lru_cache(maxsize=512)
def load_module(ptx: str, build: Build = "jit") -> Any:
    """Load PTX text, assembled as `build` says, once; return CuPy's module.

    Raises CuPy's driver error when the driver refuses it, and as `loadable` where ptxas assembles.
    """
    import cupy

    module = cupy.cuda.function.Module()
    module.load(loadable(ptx, build, f"sm_{cupy.cuda.Device().compute_capability}"))
    return module


def launch(function: Any, step: Step, bases: dict[str, int]) -> None:
    """Queue one launch on CuPy's current stream. `bases` maps buffer names to the device addresses of their words."""
    ready(function, step)(arguments(step, bases))


def ready(function: Any, step: Step) -> Callable[[tuple[np.generic, ...]], None]:
    """Return what queues launches of one step on CuPy's current stream, given their arguments.

    Raises `MissingRequirementError` for a programmatic launch without cuda-bindings.
    """
    import cupy

    if step.dynamic_shared:
        cupy.cuda.driver.funcSetAttribute(function.ptr, _MAX_DYNAMIC_SHARED, step.dynamic_shared)
    if step.programmatic:
        # As both arms' own launchers do: blocks that start beside others need room in how L1 and shared memory are
        # divided then, which changes only when a multiprocessor is empty.
        cupy.cuda.driver.funcSetAttribute(function.ptr, _SHARED_CARVEOUT, 100)
        return ready_programmatic(function, step)

    def start(given: tuple[np.generic, ...]) -> None:
        function(step.grid, step.block, given, shared_mem=step.dynamic_shared)

    return start


def arguments(step: Step, bases: dict[str, int]) -> tuple[np.generic, ...]:
    """Return a launch's arguments as numpy scalars of their PTX types."""
    values: list[np.generic] = []
    for arg in step.args:
        if isinstance(arg, Address):
            values.append(np.uint64(bases[arg.array.buffer.name] + arg.array.byte_offset))
        else:
            values.append(np.uint32(arg.value) if arg.type == "u32" else np.uint64(arg.value))
    return tuple(values)


def _cuda_version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
