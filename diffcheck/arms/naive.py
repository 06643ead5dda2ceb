"""The arms of the naive kernel: one block a query head, no splits. Compared with split arithmetic within a bound."""

from __future__ import annotations

from collections.abc import Mapping

from diffcheck import digest
from diffcheck.arms.base import Kernel, Problem, Role
from diffcheck.arms.builder import PACKAGE, builder_entries, built, built_kernel
from diffcheck.arms.launches import naive_program
from diffcheck.cases import STORAGES, Stage, Storage
from diffcheck.errors import choose
from diffcheck.executors.base import Availability
from diffcheck.executors.program import Program
from diffcheck.generators import Inputs, widened


class NaiveArm:
    """The naive f32 kernel of py_builder_kernel.

    K and V of an f16 case are widened to f32 first: the kernel then reads the very same values by another path, so a
    difference is the read's or the arithmetic's, never storage rounding.
    """

    name: str = "naive"
    role: Role = "bounded"
    title: str = "one block a query head, no splits, on values widened to f32"
    storages: tuple[Storage, ...] = STORAGES
    stages: tuple[Stage, ...] = ("decode",)

    def available(self) -> Availability:
        """Say yes: the package needs nothing but Python."""
        return Availability(True)

    def sources(self) -> Mapping[str, str]:
        """Return the digest of the builder's sources, kernels and opcode table included."""
        return {PACKAGE: digest.of_package(PACKAGE)}

    def inputs(self, problem: Problem) -> Inputs:
        """Return what the kernel reads."""
        return widened(problem.decode_inputs)

    def program(self, problem: Problem, target: str) -> Program:
        """Return the one launch of a problem; see `DeviceArm.program`."""
        inputs = self.inputs(problem)
        entry = naive_entry(inputs.storage, problem.plan.head_dim)
        module = built((entry,), target)
        return naive_program(problem, inputs, module.text, entry, module.entries[entry].dynamic_shared_bytes)

    def entries(self, target: str) -> tuple[str, ...]:
        """Return the names of the naive f32 kernels; see `DeviceArm.entries`."""
        return tuple(entry for entry in builder_entries(target) if entry.startswith("naive_decode_f32_"))

    def kernel(self, entry: str, target: str) -> Kernel:
        """Return one kernel; see `DeviceArm.kernel`."""
        return built_kernel(choose("entry", entry, self.entries(target)), target)


class NaiveF16Arm(NaiveArm):
    """The naive f16 kernel, which converts what it reads itself; of f16 cases only."""

    name: str = "naive-f16"
    title: str = "one block a query head, no splits, on f16 values as they are"
    storages: tuple[Storage, ...] = ("f16",)

    def inputs(self, problem: Problem) -> Inputs:
        """Return the problem's own inputs."""
        return problem.decode_inputs

    def entries(self, target: str) -> tuple[str, ...]:
        """Return the names of the naive f16 kernels; see `DeviceArm.entries`."""
        return tuple(entry for entry in builder_entries(target) if entry.startswith("naive_decode_f16_"))


def naive_entry(storage: Storage, head_dim: int) -> str:
    """Return the name of the naive kernel (docs/contract.md, section 8)."""
    return f"naive_decode_{storage}_d{head_dim}"
