"""What NVML says of one device. A field that a device, or the driver's NVML, does not support is null, never an error.

NVML numbers devices by itself, so the handle is found by the PCI address that CUDA gives.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, Protocol, TypeVar

from diffcheck.receipts.ab.host import ForeignProcess
from diffcheck.receipts.ab.samples import Reading

_T = TypeVar("_T")

REASONS: dict[str, int] = {
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100,
}
"""NVML's reasons for a lowered clock, by bit (nvml.h, nvmlClocksEventReasons)."""
POWER_CAP = "sw_power_cap"


class Monitor(Protocol):
    """What a run asks of the device beside its kernels."""

    def read(self) -> Reading:
        """Return the clocks, temperature, power and throttle reasons of this moment."""
        ...

    def processes(self) -> tuple[ForeignProcess, ...] | None:
        """Return the other processes that have a context on the device; None where it does not say."""
        ...


class NoMonitor:
    """Where NVML is not there: everything is null."""

    def read(self) -> Reading:
        """Return a reading of nulls."""
        return Reading(sm_mhz=None, memory_mhz=None, temperature_c=None, power_w=None, throttle=None)

    def processes(self) -> tuple[ForeignProcess, ...] | None:
        """Return None: unknown."""
        return None


class Nvml:
    """One device, by NVML."""

    def __init__(self, library: ModuleType | Any, handle: Any) -> None:
        self._library = library
        self._handle = handle

    def read(self) -> Reading:
        """Return the clocks (MHz), temperature (°C), power (W) and throttle reasons of this moment."""
        nvml, handle = self._library, self._handle
        sm = self._number(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM))
        memory = self._number(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM))
        power = self._number(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        return Reading(
            sm_mhz=None if sm is None else int(sm),
            memory_mhz=None if memory is None else int(memory),
            temperature_c=self._number(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            power_w=None if power is None else power / 1000.0,
            throttle=self._throttle(),
        )

    def processes(self) -> tuple[ForeignProcess, ...] | None:
        """Return every other process with a compute or graphics context on the device.

        A process that the operating system has no more is a phantom: its context outlived it, or it lies in another
        container.
        """
        nvml, handle = self._library, self._handle
        compute = self._ask(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(handle))
        if compute is None:
            return None
        graphics = self._ask(lambda: nvml.nvmlDeviceGetGraphicsRunningProcesses(handle)) or []
        found = [_process("compute", one) for one in compute if one.pid != os.getpid()]
        known = {one.pid for one in compute}
        # A process with both kinds of context computes.
        return (*found, *(_process("graphics", one) for one in graphics if one.pid not in {*known, os.getpid()}))

    def uuid(self) -> str | None:
        """Return the device's UUID."""
        return self._ask(lambda: _text(self._library.nvmlDeviceGetUUID(self._handle)))

    def driver(self) -> str | None:
        """Return the driver's version."""
        return self._ask(lambda: _text(self._library.nvmlSystemGetDriverVersion()))

    def peak_bytes_per_second(self) -> float | None:
        """Return the memory's peak: highest clock times bus width, both edges of the clock."""
        nvml, handle = self._library, self._handle
        mhz = self._ask(lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM))
        bits = self._ask(lambda: nvml.nvmlDeviceGetMemoryBusWidth(handle))
        return mhz * 1e6 * bits / 8.0 * 2.0 if mhz and bits else None

    def lockable_clocks(self) -> bool | None:
        """Return whether this user may lock the clocks; None where the device does not say."""
        return self._ask(lambda: bool(self._library.nvmlDeviceGetAPIRestriction(self._handle, 0) == 0))

    def _throttle(self) -> tuple[str, ...] | None:
        nvml, handle = self._library, self._handle
        # Named "throttle" before driver 535, "event" since.
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        answers = [self._ask(partial(getattr(nvml, name), handle)) for name in names if hasattr(nvml, name)]
        bits = next((int(answer) for answer in answers if answer is not None), None)
        if bits is None:
            return None
        named = [name for name, bit in REASONS.items() if bits & bit]
        rest = bits & ~sum(REASONS.values())
        return (*named, f"unknown_{rest:#x}") if rest else tuple(named)

    def _number(self, question: Callable[[], object]) -> float | None:
        """Return a number that is not negative; anything else is no answer."""
        answer = self._ask(question)
        if not isinstance(answer, int | float) or not math.isfinite(answer) or answer < 0:
            return None
        return float(answer)

    def _ask(self, question: Callable[[], _T]) -> _T | None:
        try:
            return question()
        # An older library has not every function.
        except (self._library.NVMLError, AttributeError):
            return None


def open_monitor(pci_address: str) -> Nvml | NoMonitor:
    """Return what watches the device at a PCI address such as `0000:01:00.0`."""
    try:
        import pynvml
    except ImportError:
        return NoMonitor()
    try:
        pynvml.nvmlInit()
        return Nvml(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(pci_address.encode()))
    except pynvml.NVMLError:
        return NoMonitor()


def _process(kind: str, process: Any) -> ForeignProcess:
    memory = process.usedGpuMemory
    return ForeignProcess.model_validate(
        {"kind": kind, "state": "live" if _exists(int(process.pid)) else "phantom", "memory_bytes": memory}
    )


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
