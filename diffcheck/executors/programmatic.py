"""Programmatic dependent launch: which kernels are launched so, and how, which CuPy's own launch cannot.

A kernel that is launched so may start while the kernel before it on the stream still runs. `griddepcontrol.wait` holds
each of its threads until that kernel has completed and what it wrote is visible, so results are those of a plain
launch. Where the operation before it on the stream is no kernel, it is a plain launch. A stream that is captured keeps
the edge in the graph.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from diffcheck.errors import MissingRequirementError
from diffcheck.executors.program import Step

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(r"\.(?:entry|func)\b")
_WAIT = re.compile(r"\bgriddepcontrol\.wait\b")
# By class: to ask a dtype for its name takes longer than a launch, and a graph has thousands of these.
_TYPES: dict[type[np.generic], type[ctypes.c_uint32 | ctypes.c_uint64]] = {
    np.uint32: ctypes.c_uint32,
    np.uint64: ctypes.c_uint64,
}


@lru_cache(maxsize=512)
def waits(ptx: str, entry: str) -> bool:
    """Tell whether an entry has a `griddepcontrol.wait`: then it is launched programmatically, and else must not be.

    The instruction exists from sm_90 on, so PTX for an older target has no such entry.
    """
    for body in _FUNCTION.split(_COMMENT.sub("", ptx))[1:]:
        if re.match(rf"\s*{re.escape(entry)}(?![\w$])", body):
            return _WAIT.search(body) is not None
    return False


def bindings_version() -> str | None:
    """Return the version of NVIDIA's cuda-bindings, None where it is not installed."""
    try:
        import cuda.bindings
    except ImportError:
        return None
    return str(cuda.bindings.__version__)


def ready_programmatic(function: Any, step: Step) -> Callable[[tuple[np.generic, ...]], None]:
    """Return what queues programmatic launches of one step on CuPy's current stream, given their arguments.

    `function` is CuPy's. Raises `MissingRequirementError` without cuda-bindings: a plain launch in its place would be
    timed as what it is not. What it returns raises CuPy's driver error.
    """
    import cupy

    driver = _driver()
    handle = driver.CUfunction(function.ptr)
    config = _config(driver, step)

    def start(given: tuple[np.generic, ...]) -> None:
        config.hStream = driver.CUstream(cupy.cuda.get_current_stream().ptr)
        types = tuple(_TYPES[type(value)] for value in given)
        (code,) = driver.cuLaunchKernelEx(config, handle, (given, types), 0)
        if int(code):
            raise cupy.cuda.driver.CUDADriverError(int(code))

    return start


def _config(driver: Any, step: Step) -> Any:
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    config = driver.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = step.grid
    config.blockDimX, config.blockDimY, config.blockDimZ = step.block
    config.sharedMemBytes = step.dynamic_shared
    config.attrs = [attribute]
    config.numAttrs = 1
    return config


@cache
def _driver() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError:
        raise MissingRequirementError(
            "cuda-bindings is not installed, and a kernel that waits for the one before it is launched with it",
            "make setup, where there is a driver (the extras cuda12 and cuda13 bring it)",
        ) from None
    return driver
