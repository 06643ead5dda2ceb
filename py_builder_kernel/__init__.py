"""PTX built from Python: split-K decode attention for one query position, launched with CuPy.

Importing this package needs no GPU, driver or CuPy.
"""

from py_builder_kernel.build import BuiltModule, KernelInfo, build_module, emit, entry_names
from py_builder_kernel.errors import ArgumentTypeError, ArgumentValueError, DeviceUnavailableError
from py_builder_kernel.launch import NaiveDecode, SplitKDecode
from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.target import TARGETS

__all__ = [
    "TARGETS",
    "ArgumentTypeError",
    "ArgumentValueError",
    "BuiltModule",
    "DeviceUnavailableError",
    "KernelInfo",
    "NaiveDecode",
    "PtxBuildError",
    "SplitKDecode",
    "build_module",
    "emit",
    "entry_names",
]
