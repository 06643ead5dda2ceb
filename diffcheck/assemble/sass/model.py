"""The record of `diffcheck assemble --sass`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from diffcheck.receipts.fields import Count, Model, Name, Real, Target


class HotLoop(Model):
    """The loop with the most FFMA: one turn that requests a whole step's rows and moves no maximum."""

    instructions: Count
    """Of that turn."""
    instructions_all: Count
    """Of all that belongs to the loop: masked rows and moved maxima too."""
    rows: Count
    """Rows of K, and as many of V, that a turn computes. 0: the kernel has none."""
    per_row: Real | None
    """Instructions a row of K and V."""
    mix: dict[str, Count]
    """The turn's instructions by kind."""


class SassKernel(Model):
    """One kernel on one target."""

    arm: Name
    entry: Name
    target: Target
    registers: Count
    blocks_per_sm: Count
    """Blocks that an SM holds at a time."""
    occupancy: Real
    """Warps of those blocks, in percent of the most that an SM holds."""
    code_bytes: Count
    """Bytes of code, padding left out."""
    instructions: Count
    mix: dict[str, Count]
    """All instructions by kind."""
    loop: HotLoop | None


class SassRatio(Model):
    """Instructions a row of K and V in the hot loop of two arms' kernels of the same name."""

    entry: Name
    target: Target
    a: Name
    b: Name
    a_per_row: Real
    b_per_row: Real
    ratio: Real
    """The first over the second."""
    holds: bool
    reason: str
    """Why a ratio above the limit is accepted; empty otherwise."""


class SassReport(Model):
    """What ptxas made of every kernel, by nvdisasm."""

    ptxas_version: Name
    nvdisasm_version: Name
    status: Literal["holds", "fails"]
    kernels: tuple[SassKernel, ...] = Field(min_length=1)
    ratios: tuple[SassRatio, ...]
