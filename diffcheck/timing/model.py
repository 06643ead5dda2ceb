"""The record of a timing run. Raw samples are kept apart from what is derived of them."""

from __future__ import annotations

import math
import statistics
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.arms import ARMS
from diffcheck.cases import DECODES
from diffcheck.experiment.model import Whole
from diffcheck.receipts.ab.samples import Microseconds
from diffcheck.receipts.cases import CaseFacts
from diffcheck.receipts.copies import require_copies, require_rotated
from diffcheck.receipts.fields import Count, Model, Name, Real, Sha256, Target
from diffcheck.receipts.looked_at import wrong_check
from diffcheck.receipts.metrics import Check
from diffcheck.receipts.provenance import Tree
from diffcheck.repeated import require_once
from diffcheck.timing.graph import spread_percent

_ROUNDING = 1e-9
LAUNCH_FLOOR = "empty"
"""The floor that reads nothing."""


class Variant(Model):
    """One thing that was timed: a call of it is one pass over one set of buffers."""

    name: Name
    """An arm, or a floor."""
    kind: Literal["arm", "part", "floor"]
    """arm: a whole decode; part: one of its launches alone; floor: what no arm can be faster than."""
    detail: str
    ptx_sha256: Sha256
    calls: Whole
    """Calls in one graph."""
    samples_us: tuple[Microseconds, ...] = Field(min_length=1)
    """Microseconds a call, one number a replay of the graph, in the order they were taken."""
    median_us: Microseconds
    """Median of the samples."""
    spread_percent: Real
    """Half the distance between the 10th and the 90th percentile, over the median."""
    bytes_per_second: Real | None
    """Bytes of K and V over the median; null for the launch floor."""

    @model_validator(mode="after")
    def _derived_follows_from_samples(self) -> Self:
        median, spread = statistics.median(self.samples_us), spread_percent(self.samples_us)
        if not math.isclose(self.median_us, median, rel_tol=_ROUNDING):
            raise ValueError(f"median_us: {self.median_us} contradicts the samples, which say {median}")
        if not math.isclose(self.spread_percent, spread, rel_tol=_ROUNDING, abs_tol=_ROUNDING):
            raise ValueError(f"spread_percent: {self.spread_percent} contradicts the samples, which say {spread}")
        return self

    def require_speed(self, kv_bytes: int) -> None:
        """Raise `ValueError` where the bytes a second are not those of K and V over the median."""
        expected = None if self.name == LAUNCH_FLOOR else kv_bytes / (self.median_us * 1e-6)
        stated = self.bytes_per_second
        if expected is None or stated is None:
            same = stated is expected
        else:
            same = math.isclose(stated, expected, rel_tol=_ROUNDING)
        if not same:
            raise ValueError(f"bytes_per_second: {stated} of {self.name} contradicts its median, which says {expected}")


class TimedCase(Model):
    """One case: all variants interleaved in one process."""

    case: CaseFacts
    kv_bytes: Count
    buffer_sets: Whole
    """Copies of K and V that the calls rotate over."""
    rotated_bytes: Count
    """Bytes of all sets together, at least a hundred times the L2."""
    parity: tuple[Check, ...] = Field(min_length=1)
    """Each arm that promises the reference arm's bits against it, after the timing."""
    variants: tuple[Variant, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _bytes_are_of_the_case(self) -> Self:
        self.case.require_kv_bytes(self.kv_bytes, DECODES[self.case.stage])
        require_rotated(self.rotated_bytes, self.buffer_sets, self.kv_bytes)
        for variant in self.variants:
            variant.require_speed(self.kv_bytes)
        return self

    @model_validator(mode="after")
    def _each_variant_once_over_all_copies(self) -> Self:
        require_once("variants", (variant.name for variant in self.variants))
        for variant in self.variants:
            if variant.calls % self.buffer_sets:
                raise ValueError(
                    f"calls: {variant.calls} of {variant.name} are no whole passes over {self.buffer_sets} copies"
                )
        return self

    @model_validator(mode="after")
    def _parity_is_of_the_arms(self) -> Self:
        wrong = wrong_check(self.parity, self.case, self.case.plan, self.case.stage)
        if wrong:
            raise ValueError(f"parity: {wrong}")
        arms = [variant.name for variant in self.variants if variant.kind == "arm"]
        for check in self.parity:
            if check.name != "bits" or check.a not in arms or _role(check.b) != "reference":
                raise ValueError(
                    f"parity: a check {check.name} of {check.a} against {check.b}; allowed: bits of an arm that was "
                    "timed against the reference"
                )
        compared = {check.a for check in self.parity}
        untold = [name for name in arms if name not in compared and _role(name) == "bits"]
        if untold:
            raise ValueError(f"parity: {untold[0]} was timed, and nothing says whether it has the reference's bits")
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
    l2_bytes: Whole
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

    @model_validator(mode="after")
    def _each_case_once_and_outside_the_l2(self) -> Self:
        require_once("cases", (case.case.name for case in self.cases))
        for case in self.cases:
            # A reduction reads no K and V.
            if case.kv_bytes:
                require_copies(case.case.name, case.buffer_sets, case.kv_bytes, self.l2_bytes)
        return self


def _role(name: str) -> str:
    """Return an arm's role; empty for one that no longer exists, of which nothing can be asked."""
    arm = ARMS.get(name)
    return str(arm.role) if arm else ""
