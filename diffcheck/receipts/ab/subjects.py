"""What a receipt speaks of, by hashes: a receipt is fresh while they equal the tree's."""

from __future__ import annotations

from pydantic import model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Model, Name, Sha256, Target
from diffcheck.repeated import require_once


class ArmPtx(Model):
    """The module that an arm has for one target, all its kernels in it."""

    arm: Name
    target: Target
    """The target that the PTX names; the device may be newer."""
    sha256: Sha256


class Subjects(Model):
    """SHA-256 of everything that decides what was measured and how."""

    ptx: tuple[ArmPtx, ...]
    """Of every arm that the experiment times against another, peers excepted."""
    manifest_sha256: Sha256
    """Of the manifest that ties the Rust kernel's PTX to its sources."""
    contract_sha256: Sha256
    """Of the numeric contract, docs/contract.md."""
    tile_table_sha256: Sha256
    """Of the planner's tile table."""
    plans_sha256: Sha256
    """Of the plans that the planner makes for a fixed set of calls."""
    cases_sha256: Sha256
    """Of the sources of cases, generators, oracle, bounds and comparators."""
    timing_sha256: Sha256
    """Of the sources of the timing code."""

    @model_validator(mode="after")
    def _each_arm_once(self) -> Self:
        require_once("ptx", (ptx.arm for ptx in self.ptx))
        return self
