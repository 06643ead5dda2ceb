"""The record of a timing run. Raw samples are kept apart from what is derived of them."""

from __future__ import annotations

import math
import statistics
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.cases import DECODES
from diffcheck.receipts.cases import CaseFacts
from diffcheck.receipts.fields import Count, Model, Name, Real, Sha256, Target
from diffcheck.receipts.metrics import Check
from diffcheck.receipts.provenance import Tree


class Variant(Model):
    """One thing that was timed: a call of it is one pass over one set of buffers."""

    name: Name
    """An arm, or a floor."""
    kind: Literal["arm", "part", "floor"]
    """arm: a whole decode; part: one of its launches alone; floor: what no arm can be faster than."""
    detail: str
    ptx_sha256: Sha256
    calls: Count
    """Calls in one graph."""
    samples_us: tuple[Real, ...] = Field(min_length=1)
    """Microseconds a call, one number a replay of the graph, in the order they were taken."""
    median_us: Real
    """Median of the samples."""
    spread_percent: Real
    """Half the distance between the 10th and the 90th percentile, over the median."""
    bytes_per_second: Real | None
    """Bytes of K and V over the median; null for the launch floor."""

    @model_validator(mode="after")
    def _median_follows_from_samples(self) -> Self:
        expected = statistics.median(self.samples_us)
        if not expected > 0:
            raise ValueError(f"samples_us: a median of {expected}; a time is more than 0")
        if not math.isclose(self.median_us, expected, rel_tol=1e-9):
            raise ValueError(f"median_us: {self.median_us} contradicts the samples, which say {expected}")
        return self


class TimedCase(Model):
    """One case: all variants interleaved in one process."""

    case: CaseFacts
    kv_bytes: Count
    buffer_sets: Count
    """Copies of K and V that the calls rotate over."""
    rotated_bytes: Count
    """Bytes of all sets together, at least three times the L2."""
    parity: tuple[Check, ...] = Field(min_length=1)
    """Each arm that promises the reference arm's bits against it, after the timing."""
    variants: tuple[Variant, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _bytes_are_of_the_case(self) -> Self:
        self.case.require_kv_bytes(self.kv_bytes, DECODES[self.case.stage])
        if self.rotated_bytes != self.kv_bytes * self.buffer_sets:
            raise ValueError(f"rotated_bytes: {self.rotated_bytes} contradicts {self.buffer_sets} x {self.kv_bytes}")
        return self


class Timing(Model):
    """Tier measured: times on one device."""

    schema_name: Literal["diffcheck-timing/1"] = Field(default="diffcheck-timing/1", alias="schema")
    tool_version: Name
    command: tuple[str, ...] | None = None
    """The command line, without the program and the folders of files; null in files from before it was recorded."""
    tree: Tree
    device: Name
    arch: Target
    sms: Count
    l2_bytes: Count
    driver_version: Name
    runtime_version: Name
    cupy_version: Name
    target: Target
    status: Literal["holds", "fails"]
    """Whether every timed arm had the reference's bits: times of a wrong result mean nothing."""
    cases: tuple[TimedCase, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_parity(self) -> Self:
        expected = "holds" if all(check.holds for case in self.cases for check in case.parity) else "fails"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the cases, which say {expected}")
        return self
