"""Programmatic dependent launch through NVIDIA's cuda-bindings: CuPy's own launch has no room for launch attributes.

A kernel that is launched so may start while the kernel before it on the stream still runs. It waits in
`griddepcontrol.wait` until that kernel has completed and what it wrote is visible, so results are those of a plain
launch. Where the operation before it on the stream is no kernel, it is a plain launch. A stream that is captured keeps
the edge in the graph.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from py_builder_kernel.build import Dim3
from py_builder_kernel.errors import DeviceUnavailableError

_TYPES: dict[np.dtype[Any], Any] = {np.dtype(np.uint32): ctypes.c_uint32, np.dtype(np.uint64): ctypes.c_uint64}


@dataclass(frozen=True, slots=True)
class Programmatic:
    """What launches kernels programmatically in the current context; made once a module, by `programmatic`."""

    driver: Any
    attribute: Any

    def launch(
        self, function: int, grid: Dim3, block: Dim3, args: tuple[np.generic, ...], *, shared_bytes: int, stream: int
    ) -> int:
        """Queue a launch of the kernel with the handle `function`; return the driver's code, 0 where it was queued.

        Arguments are numpy scalars, u32 or u64.
        """
        config = self.driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = block
        config.sharedMemBytes = shared_bytes
        config.hStream = self.driver.CUstream(stream)
        config.attrs = [self.attribute]
        config.numAttrs = 1
        types = tuple(_TYPES[arg.dtype] for arg in args)
        (code,) = self.driver.cuLaunchKernelEx(config, self.driver.CUfunction(function), (args, types), 0)
        return int(code)


def programmatic() -> Programmatic:
    """Return what launches programmatically. Raises DeviceUnavailableError where cuda-bindings is not installed."""
    try:
        from cuda.bindings import driver
    except ImportError:
        raise DeviceUnavailableError(
            "cuda-bindings is not installed, which these kernels are launched with: install cuda-bindings of the "
            "CUDA version that CuPy is for, ==12.* or ==13.*"
        ) from None
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    return Programmatic(driver, attribute)
