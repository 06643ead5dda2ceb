"""The record of the tier `assembled`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target


class AssembledKernel(Model):
    """One kernel on one target, as ptxas reports it."""

    arm: Name
    entry: Name
    target: Target
    ptx_sha256: Sha256
    threads: Count
    """Threads a block."""
    registers: Count
    """32-bit registers a thread."""
    register_limit: Count
    """The most that leave room for the blocks an SM that the tile asks for."""
    static_shared: Count
    """Bytes of shared memory that the module declares."""
    dynamic_shared: Count
    """Bytes of shared memory that a launch adds."""
    shared_limit: Count
    """The most shared memory that a block may have on the target, over the blocks an SM that the tile asks for."""
    stack: Count
    """Bytes of local memory a thread."""
    spill_stores: Count
    spill_loads: Count
    problems: tuple[str, ...]
    """What is wrong, one line each; empty when it holds."""


class Assembled(Model):
    """Tier assembled: ptxas accepted the PTX for these targets, with these resources."""

    ptxas_version: Name
    status: Literal["holds", "fails"]
    kernels: tuple[AssembledKernel, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_kernels(self) -> Self:
        expected = "fails" if any(kernel.problems for kernel in self.kernels) else "holds"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the kernels, which say {expected}")
        return self
