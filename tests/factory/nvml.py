"""NVML on a device that supports no more than a test says."""

from __future__ import annotations

import types

from diffcheck.ab.nvml import Nvml


class UnsupportedError(Exception):
    """What NVML's binding raises for NVML_ERROR_NOT_SUPPORTED."""


def nvml(**answers: object) -> Nvml:
    """A library whose every call that is not given fails as an unsupported one does."""

    def ask(name: str) -> object:
        def call(*_: object) -> object:
            if name in answers:
                return answers[name]
            raise UnsupportedError(name)

        return call

    library = types.SimpleNamespace(
        NVMLError=UnsupportedError, NVML_CLOCK_SM=1, NVML_CLOCK_MEM=2, NVML_TEMPERATURE_GPU=0
    )
    names = (
        *("nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature", "nvmlDeviceGetUUID"),
        *("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        *("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses"),
        *("nvmlSystemGetDriverVersion", "nvmlDeviceGetMaxClockInfo", "nvmlDeviceGetMemoryBusWidth"),
        "nvmlDeviceGetAPIRestriction",
    )
    for name in names:
        setattr(library, name, ask(name))
    return Nvml(library, object())
