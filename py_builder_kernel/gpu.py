"""The CUDA device through CuPy, opened when an object that launches is made and not before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from py_builder_kernel.build import BuiltModule, Dim3, build_module
from py_builder_kernel.checks import whole_number
from py_builder_kernel.errors import ArgumentValueError, DeviceUnavailableError
from py_builder_kernel.programmatic import Programmatic, programmatic
from py_builder_kernel.ptx.target import TARGETS
from rust_kernel.plan import DeviceProfile, profiles

_MAX_DYNAMIC_SHARED_ATTRIBUTE: Final = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_SHARED_CARVEOUT_ATTRIBUTE: Final = 9  # CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
_MOST_SHARED_PERCENT: Final = 100
# A launch may ask for this much dynamic shared memory without the attribute.
_SHARED_WITHOUT_ATTRIBUTE: Final = 48 * 1024
_DEVICE_MEMORY_TYPES: Final = (2, 3)  # cudaMemoryTypeDevice, cudaMemoryTypeManaged


@dataclass(frozen=True, slots=True)
class _Stream:
    """What CuPy's launch reads of a stream."""

    ptr: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """A loaded entry, the dynamic shared bytes of its launches, and what launches it programmatically (None: plainly).

    `refused` makes CuPy's error of the code with which the driver refuses a launch.
    """

    function: Any
    dynamic_shared_bytes: int
    programmatic: Programmatic | None
    refused: Callable[[int], Exception]

    def launch(self, grid: Dim3, block: Dim3, args: tuple[Any, ...], stream: int) -> None:
        """Queue a launch; arguments are numpy scalars of the parameters' types. Raises CuPy's driver error."""
        shared = self.dynamic_shared_bytes
        if self.programmatic is None:
            self.function(grid, block, args, shared_mem=shared, stream=_Stream(stream))
            return
        code = self.programmatic.launch(self.function.ptr, grid, block, args, shared_bytes=shared, stream=stream)
        if code:
            raise self.refused(code)


class Gpu:
    """One device: its facts, its memory, and PTX modules loaded on it."""

    def __init__(self, device: int | None = None) -> None:
        self._cupy = _cupy()
        try:
            count = int(self._cupy.cuda.runtime.getDeviceCount())
        except self._cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceUnavailableError(f"no usable CUDA driver: {error}") from None
        if count == 0:
            raise DeviceUnavailableError("no CUDA device is visible")
        if device is not None:
            whole_number("device", device, 0, count - 1)
        self.context: Any = self._cupy.cuda.Device(device)
        self.index = int(self.context.id)
        self.arch = int(self.context.compute_capability)
        self.sms = int(self.context.attributes["MultiProcessorCount"])
        self._shared_per_block = int(self.context.attributes["MaxSharedMemoryPerBlockOptin"])

    @property
    def target(self) -> str:
        """The newest target that the device runs; the driver assembles older PTX for newer devices."""
        usable = [target for target in TARGETS.values() if target.sm <= self.arch]
        if not usable:
            raise DeviceUnavailableError(f"device {self.index} is sm_{self.arch}, allowed: sm_80 and later")
        return max(usable, key=lambda target: target.sm).name

    def profile(self) -> DeviceProfile:
        """The profile with the device's architecture and number of SMs, or else `generic`."""
        return choose_profile(self.arch, self.sms)

    def load(self, entries: Iterable[str]) -> Mapping[str, Kernel]:
        """Load one module with the entries, and make every kernel ready to launch.

        Raises `ArgumentValueError` for a tile that takes more shared memory than a block of the device may have, and
        `DeviceUnavailableError` when the driver refuses the text, with its version and the driver's, and where kernels
        that wait for the one before them (`KernelInfo.programmatic`) have no cuda-bindings to be launched with.
        """
        built = build_module(entries, self.target)
        for entry, info in built.entries.items():
            if info.dynamic_shared_bytes > self._shared_per_block:
                allowed = f"0 to {self._shared_per_block} on device {self.index}"
                raise ArgumentValueError(f"shared memory of {entry} in bytes", info.dynamic_shared_bytes, allowed)
        early = programmatic() if any(info.programmatic for info in built.entries.values()) else None
        with self.context:
            module = self._cupy.cuda.function.Module()
            try:
                module.load(built.text.encode())
            except self._cupy.cuda.driver.CUDADriverError as error:
                raise DeviceUnavailableError(self._refusal(built, error)) from None
            return {entry: self._kernel(module, built, entry, early) for entry in built.entries}

    def _refusal(self, built: BuiltModule, error: Exception) -> str:
        newest = int(self._cupy.cuda.runtime.driverGetVersion())
        driver = f"the driver, for CUDA {newest // 1000}.{newest % 1000 // 10},"
        return f"{driver} refuses PTX {built.version} for {built.target}: {' '.join(str(error).split())}"

    def _kernel(self, module: Any, built: BuiltModule, entry: str, early: Programmatic | None) -> Kernel:
        function = module.get_function(entry)
        info = built.entries[entry]
        shared = info.dynamic_shared_bytes
        if shared > _SHARED_WITHOUT_ATTRIBUTE:
            self._cupy.cuda.driver.funcSetAttribute(function.ptr, _MAX_DYNAMIC_SHARED_ATTRIBUTE, shared)
        if info.programmatic:
            # A multiprocessor divides L1 and shared memory anew only when it is empty: blocks that are to start beside
            # others need room in the division that is there.
            self._cupy.cuda.driver.funcSetAttribute(function.ptr, _SHARED_CARVEOUT_ATTRIBUTE, _MOST_SHARED_PERCENT)
        return Kernel(function, shared, early if info.programmatic else None, self._cupy.cuda.driver.CUDADriverError)

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
        """An uninitialised CuPy array; 256-byte aligned, as CuPy's allocator gives."""
        with self.context:
            return self._cupy.empty(shape, dtype=dtype)

    def current_stream(self) -> int:
        """CuPy's current stream on this device."""
        with self.context:
            return int(self._cupy.cuda.get_current_stream().ptr)

    def device_of(self, address: int) -> int | None:
        """The device of an address, or None for memory that is not on a device."""
        attributes = self._cupy.cuda.runtime.pointerGetAttributes(address)
        return int(attributes.device) if attributes.type in _DEVICE_MEMORY_TYPES else None

    def from_dlpack(self, array: Any) -> Any:
        """A DLPack array as a CuPy array on the same memory."""
        return self._cupy.from_dlpack(array)


def choose_profile(arch: int, sms: int) -> DeviceProfile:
    """The named profile with this architecture and number of SMs, or else the one called `generic`.

    A device that has no profile of its own runs with `generic`'s splits: right, and comparable to the bit with any
    other device that does, but not cut to its number of SMs.
    """
    known = profiles()
    matching = [
        profile for profile in known if (profile.arch, profile.sms) == (arch, sms) and profile.name != "generic"
    ]
    return matching[0] if matching else next(profile for profile in known if profile.name == "generic")


def _cupy() -> Any:
    try:
        import cupy
    except ImportError:
        raise DeviceUnavailableError("CuPy is not installed: install cupy-cuda12x or cupy-cuda13x") from None
    except Exception as error:  # a broken CUDA installation fails inside CuPy's import in many ways
        raise DeviceUnavailableError(f"CuPy cannot be imported: {' '.join(str(error).split())}") from None
    return cupy
