"""The CUDA device that values are measured on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from diffcheck.errors import MissingRequirementError
from diffcheck.opcodes.executors import GpuProbes, ProbeExecutor


def gpu_factory() -> ProbeExecutor:
    """An executor on the current device, for a worker."""
    return GpuProbes()


def device_facts() -> dict[str, Any]:
    """What a file of values says of the device and of the software that assembled for it.

    The assembler is the driver's own: its version is `cuda`, the CUDA version of the driver. Raises
    `MissingRequirementError`, one line, where there is no device.
    """
    try:
        import cupy

        runtime = cupy.cuda.runtime
        if int(runtime.getDeviceCount()) == 0:
            raise MissingRequirementError("no CUDA device is visible", "run this where there is one")
        device = cupy.cuda.Device()
        properties = runtime.getDeviceProperties(device.id)
        version = int(runtime.driverGetVersion())
    except MissingRequirementError:
        raise
    except ImportError:
        raise MissingRequirementError("CuPy is not installed", "the extras cuda12 and cuda13 bring it") from None
    except Exception as error:  # a broken CUDA installation fails in many ways
        what = " ".join(str(error).split())
        raise MissingRequirementError(f"no usable CUDA device: {what}", "run this where there is one") from error
    return {
        "device": bytes(properties["name"]).decode(),
        "arch": f"sm_{device.compute_capability}",
        "driver": driver_release(),
        "cuda": f"{version // 1000}.{version % 1000 // 10}",
        "cupy": str(cupy.__version__),
    }


def driver_release(file: Path = Path("/proc/driver/nvidia/version")) -> str | None:
    """The release of the kernel driver, such as 580.95.05; None where the system does not tell."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"\b(\d+\.\d+(?:\.\d+)?)\b", text)
    return found[1] if found else None
