"""Who assembles the PTX that a device runs: the driver as it loads it, or ptxas before, at a level of optimisation."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from diffcheck.assemble.ptxas import cubin_of, ptxas_version

Build: TypeAlias = Literal["jit", "cubin-O0", "cubin-O1", "cubin-O2", "cubin-O3"]

BUILDS: tuple[Build, ...] = get_args(Build)


def loadable(ptx: str, build: Build, arch: str) -> bytes:
    """Return what the driver is given to load: the text itself, or the machine code that ptxas made of it for `arch`.

    Raises `AssembleError` when ptxas refuses the text and `MissingRequirementError` without ptxas.
    """
    if build == "jit":
        return ptx.encode()
    return cubin_of(ptx, arch, int(build[-1]))


def assembler(build: Build) -> str | None:
    """Return the version of the ptxas that makes a build, None where the driver does."""
    return None if build == "jit" else ptxas_version()
