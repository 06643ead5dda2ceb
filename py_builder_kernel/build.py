"""Modules of kernels as PTX text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from py_builder_kernel.kernels.registry import kernel_named, planned_specs
from py_builder_kernel.kernels.spec import PartialSpec
from py_builder_kernel.kernels.staging import dynamic_shared_bytes
from py_builder_kernel.ptx import Function, Module, target_named
from py_builder_kernel.ptx.instructions import Instruction
from py_builder_kernel.ptx.target import version_text
from rust_kernel.plan import CONTRACT, Plan

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """What launching an entry takes.

    `kind` is the kernel's kind (`partial`, `reduce`, `naive`), `block` its threads, `dynamic_shared_bytes` the shared
    memory that a launch adds, `params` its parameters in order as (name, PTX type without the dot). `programmatic`
    tells that it has a `griddepcontrol.wait` (sm_90 and later), so that it may be launched with
    `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`; without that attribute it runs the same, later.
    """

    kind: str
    block: Dim3
    dynamic_shared_bytes: int
    params: tuple[tuple[str, str], ...]
    programmatic: bool


@dataclass(frozen=True, slots=True)
class BuiltModule:
    """A PTX module: its text, the target and PTX version it states, and its entries by name."""

    text: str
    target: str
    version: str
    entries: Mapping[str, KernelInfo]


def entry_names(target: str) -> tuple[str, ...]:
    """The entries of every kernel that a plan for the target (`sm_90`) can ask for, in a fixed order.

    Raises PtxBuildError (a ValueError) for a target that is not in TARGETS.
    """
    return tuple(spec.entry for spec in planned_specs(target_named(target).sm))


def build_module(kernels: Iterable[str | Plan] | None = None, target: str = "sm_90") -> BuiltModule:
    """One PTX module with the kernels asked for.

    `kernels` holds entry names, and plans, which stand for their partial and reduce kernel; None means all of
    `entry_names(target)`. The text depends on these entries, their order and the target alone, byte for byte. Equal
    calls return the same object. Raises ValueError for an entry that no kernel has and PtxBuildError, which is one,
    for a target that is not in TARGETS.
    """
    if kernels is None:
        return _built(entry_names(target), target)
    entries: dict[str, None] = {}
    for kernel in kernels:
        names = (kernel,) if isinstance(kernel, str) else (kernel.partial_entry, kernel.reduce_entry)
        entries.update(dict.fromkeys(names))
    if not entries:
        raise ValueError("kernels is (); allowed: at least one entry name or plan")
    return _built(tuple(entries), target)


@lru_cache(maxsize=64)
def _built(entries: tuple[str, ...], target: str) -> BuiltModule:
    module = Module(target_named(target), header=(f"split-K decode attention, contract {CONTRACT}",))
    infos: dict[str, KernelInfo] = {}
    for entry in entries:
        kind, spec = kernel_named(entry)
        function = kind.emit(module, spec)
        params = tuple((param.name, param.dtype.name) for param in function.params)
        shared = dynamic_shared_bytes(spec, module.target) if isinstance(spec, PartialSpec) else 0
        infos[entry] = KernelInfo(kind.name, (function.max_threads, 1, 1), shared, params, _waits(function))
    return BuiltModule(module.text(), target, version_text(module.version), MappingProxyType(infos))


def _waits(function: Function) -> bool:
    return any(isinstance(line, Instruction) and line.mnemonic == "griddepcontrol.wait" for line in function.lines)


def emit(entry: str, target: str = "sm_90") -> str:
    """The PTX text of one kernel in a module of its own; errors as `build_module`."""
    return build_module((entry,), target).text
