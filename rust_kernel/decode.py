"""The Rust kernels, launched through the CUDA driver.

    >>> decode = SplitKDecode(16, 4, 262_144)
    >>> out = decode(q, k, v, kv_len, out=out)  # CuPy arrays, torch tensors, anything in device memory

The object has the interface of `py_builder_kernel.SplitKDecode` and gives the same bits. The kernels are written in
Rust (`rust_kernel/kernel`); their PTX, one text an architecture, is part of the native module. Neither importing this
module nor a call imports CuPy or torch; the CUDA driver is opened when the first object is made.
"""

from rust_kernel._native import (
    ContextError,
    CudaError,
    DeviceArray,
    DeviceUnavailableError,
    PtxSetError,
    SplitKDecode,
    choose_target,
    ptx_targets,
    ptx_text,
)

__all__ = [
    "ContextError",
    "CudaError",
    "DeviceArray",
    "DeviceUnavailableError",
    "PtxSetError",
    "SplitKDecode",
    "choose_target",
    "ptx_targets",
    "ptx_text",
]
