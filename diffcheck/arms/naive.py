"""The arm `naive`: one block a query head, no splits. The reference for the split arithmetic, within a bound."""

from __future__ import annotations

from collections.abc import Mapping

from diffcheck import digest
from diffcheck.arms.base import Kernel, Problem, Role
from diffcheck.arms.builder import PACKAGE, builder_entries, built, built_kernel
from diffcheck.arms.launches import naive_program
from diffcheck.errors import choose
from diffcheck.executors.base import Availability
from diffcheck.executors.program import Program
from diffcheck.generators import widened


class NaiveArm:
    """The naive f32 kernel of py_builder_kernel.

    K and V of an f16 case are widened to f32 first: the kernel then reads the very same values by another path, so a
    difference is the read's or the arithmetic's, never storage rounding.
    """

    name: str = "naive"
    role: Role = "bounded"
    title: str = "one block a query head, no splits, on values widened to f32"

    def available(self) -> Availability:
        """Say yes: the package needs nothing but Python."""
        return Availability(True)

    def sources(self) -> Mapping[str, str]:
        """Return the digest of the builder's sources, kernels and opcode table included."""
        return {PACKAGE: digest.of_package(PACKAGE)}

    def program(self, problem: Problem, target: str) -> Program:
        """Return the one launch of a problem; see `DeviceArm.program`."""
        entry = f"naive_decode_f32_d{problem.plan.head_dim}"
        module = built((entry,), target)
        shared = module.entries[entry].dynamic_shared_bytes
        return naive_program(problem, widened(problem.inputs), module.text, entry, shared)

    def entries(self, target: str) -> tuple[str, ...]:
        """Return the names of the naive kernels; see `DeviceArm.entries`."""
        return tuple(entry for entry in builder_entries(target) if entry.startswith("naive_"))

    def kernel(self, entry: str, target: str) -> Kernel:
        """Return one kernel; see `DeviceArm.kernel`."""
        return built_kernel(choose("entry", entry, self.entries(target)), target)
