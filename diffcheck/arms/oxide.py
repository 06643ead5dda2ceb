"""The arm `oxide`: the same kernels written in Rust, as the PTX that cuda-oxide compiled and rust_kernel carries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from diffcheck import digest
from diffcheck.arms.base import Kernel, Problem, Role
from diffcheck.arms.launches import splitk_program
from diffcheck.cases import STAGES, STORAGES, Stage, Storage
from diffcheck.errors import choose
from diffcheck.executors.base import Availability
from diffcheck.executors.program import Program
from diffcheck.oxide.abi import KernelAbi, partial_kernel, planned_kernels
from diffcheck.oxide.files import file_target, installed_files, installed_module


class OxideArm:
    """Partial and reduce kernels for every row of the tile table, from the checked-in PTX."""

    name: str = "oxide"
    role: Role = "bits"
    title: str = "PTX that cuda-oxide compiled from Rust, partial + reduce"
    storages: tuple[Storage, ...] = STORAGES
    stages: tuple[Stage, ...] = STAGES

    def available(self) -> Availability:
        """Tell whether the PTX and the planner that names its entries are there."""
        if not installed_files().ptx_files():
            return Availability(False, "rust_kernel carries no PTX")
        try:
            from rust_kernel import plan  # noqa: F401
        except ImportError as error:
            return Availability(False, f"the native module of rust_kernel is not built ({error})")
        return Availability(True)

    def sources(self) -> Mapping[str, str]:
        """Return the digests of the PTX files and, where the source tree is there, of the Rust sources."""
        files = installed_files()
        ptx = {f"rust_kernel/ptx/{path.name}": digest.of_file(path) for path in files.ptx_files()}
        sources = {f"rust_kernel/kernel/{name}": value for name, value in files.source_hashes().items()}
        return {**ptx, **sources}

    def program(self, problem: Problem, target: str) -> Program:
        """Return partial + reduce for a problem; see `DeviceArm.program`."""
        entries = (problem.plan.partial_entry, problem.plan.reduce_entry)
        kernels = _shipped(target)
        shared = [kernels[choose("entry", entry, kernels)].dynamic_shared for entry in entries]
        return splitk_program(problem, _text(entries, target), *shared)

    def entries(self, target: str) -> tuple[str, ...]:
        """Return the entry names of the tile table's kernels; see `DeviceArm.entries`."""
        return tuple(_kernels(target))

    def kernel(self, entry: str, target: str) -> Kernel:
        """Return one kernel, of the table or of a tile that the PTX has beside it; see `DeviceArm.kernel`."""
        shipped = _shipped(target)
        kernel = shipped[choose("entry", entry, shipped)]
        return Kernel(entry, _text((entry,), target), kernel.threads, kernel.dynamic_shared)


@lru_cache(maxsize=8)
def _kernels(target: str) -> dict[str, KernelAbi]:
    # A file of an older architecture brings its own shared memory along.
    file = file_target(target, installed_files().targets())
    return {kernel.entry: kernel for kernel in planned_kernels(file)}


@lru_cache(maxsize=8)
def _shipped(target: str) -> dict[str, KernelAbi]:
    """The table's kernels and, for other tables, partial kernels of whatever tile the PTX has."""
    file = file_target(target, installed_files().targets())
    others = {entry: partial_kernel(entry, file) for entry in installed_module(target).entries}
    return {**{entry: abi for entry, abi in others.items() if abi is not None}, **_kernels(target)}


@lru_cache(maxsize=64)
def _text(entries: tuple[str, ...], target: str) -> str:
    return installed_module(target).only(entries)
