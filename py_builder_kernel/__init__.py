"""PTX built from Python: split-K decode attention for one query position, launched with CuPy.

Importing this package needs no GPU, driver or CuPy.
"""

from py_builder_kernel.build import BuiltModule, KernelInfo, build_module, emit, entry_names
from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.target import TARGETS

__all__ = ["TARGETS", "BuiltModule", "KernelInfo", "PtxBuildError", "build_module", "emit", "entry_names"]
