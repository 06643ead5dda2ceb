"""The arm `builder`: split-K kernels whose PTX the package py_builder_kernel builds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from diffcheck import digest
from diffcheck.arms.base import Kernel, Problem, Role
from diffcheck.arms.launches import splitk_program
from diffcheck.cases import STAGES, STORAGES, Stage, Storage
from diffcheck.errors import choose
from diffcheck.executors.base import Availability
from diffcheck.executors.program import Program

if TYPE_CHECKING:
    from py_builder_kernel import BuiltModule

PACKAGE = "py_builder_kernel"


class BuilderArm:
    """Partial and reduce kernels for every row of the tile table, as PTX from Python."""

    name: str = "builder"
    role: Role = "bits"
    title: str = "PTX built from Python, partial + reduce"
    storages: tuple[Storage, ...] = STORAGES
    stages: tuple[Stage, ...] = STAGES

    def available(self) -> Availability:
        """Say yes: the package needs nothing but Python."""
        return Availability(True)

    def sources(self) -> Mapping[str, str]:
        """Return the digest of the builder's sources, kernels and opcode table included."""
        return {PACKAGE: digest.of_package(PACKAGE)}

    def program(self, problem: Problem, target: str) -> Program:
        """Return partial + reduce for a problem; see `DeviceArm.program`."""
        plan = problem.plan
        module = built((plan.partial_entry, plan.reduce_entry), target)
        shared = [module.entries[entry].dynamic_shared_bytes for entry in (plan.partial_entry, plan.reduce_entry)]
        return splitk_program(problem, module.text, *shared)

    def entries(self, target: str) -> tuple[str, ...]:
        """Return the entry names of the tile table's kernels; see `DeviceArm.entries`."""
        return tuple(entry for entry in builder_entries(target) if entry.startswith("splitk_"))

    def kernel(self, entry: str, target: str) -> Kernel:
        """Return one kernel, of the table or of any other tile; see `DeviceArm.kernel`."""
        from py_builder_kernel.kernels.registry import kernel_named

        try:
            known = entry.startswith("splitk_") and kernel_named(entry) is not None
        except ValueError:
            known = False
        return built_kernel(entry if known else choose("entry", entry, self.entries(target)), target)


def builder_entries(target: str) -> tuple[str, ...]:
    """Return every entry name that the builder has for a target."""
    import py_builder_kernel

    return tuple(py_builder_kernel.entry_names(target))


@lru_cache(maxsize=64)
def built(entries: tuple[str, ...], target: str) -> BuiltModule:
    """Return one PTX module with the named kernels."""
    import py_builder_kernel

    return py_builder_kernel.build_module(entries, target=target)


def built_kernel(entry: str, target: str) -> Kernel:
    """Return one kernel of the builder, in a module of its own."""
    module = built((entry,), target)
    info = module.entries[entry]
    return Kernel(entry, module.text, info.block[0], info.dynamic_shared_bytes)
