"""What a run found, row by row, and what its controls found."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.experiment.model import Positive, Relation, Whole
from diffcheck.receipts.ab.samples import Comparison, Microseconds, Percent
from diffcheck.receipts.cases import CallFacts, PlanFacts, require_plan_fits
from diffcheck.receipts.copies import require_rotated
from diffcheck.receipts.fields import Count, Model, Name, Sha256
from diffcheck.receipts.metrics import Check
from diffcheck.repeated import require_once

_ROUNDING = 1e-9
# Of the longer graph's time. How many calls a side has was chosen by a trial before its blocks, which is rough.
_LEAST_LASTING = 0.5


class RowCase(CallFacts):
    """The inputs of a row, the same for both arms."""

    layout: Name
    generator: Name
    seed: Count


class ArmRow(Model):
    """One arm of a row."""

    arm: Name
    plan: PlanFacts
    ptx_sha256: Sha256
    """Of the module with just the kernels that ran."""
    entries: tuple[Name, ...] = Field(min_length=1)
    calls: Whole
    """Calls in one graph."""


class Floor(Model):
    """What no arm can be faster than."""

    name: Literal["empty", "read"]
    """empty: as many empty kernels as a call launches; read: the bytes of K and V read once, nothing else."""
    detail: str
    samples_us: tuple[Microseconds, ...] = Field(min_length=1)
    median_us: Microseconds

    @model_validator(mode="after")
    def _median_follows(self) -> Self:
        _require_median(f"floor {self.name}", self.median_us, self.samples_us)
        return self


class Beside(Model):
    """One block of a peer and both arms: each replayed on the way there and on the way back, in µs a call."""

    baseline_us: tuple[Microseconds, Microseconds]
    candidate_us: tuple[Microseconds, Microseconds]
    peer_us: tuple[Microseconds, Microseconds]


class PeerRow(Model):
    """Another implementation in the same run. No verdict reads it; goals may."""

    name: Name
    version: Name | None
    """A version or commit; null with a reason."""
    samples_us: tuple[Microseconds, ...]
    """Microseconds a call; empty with a reason."""
    beside: tuple[Beside, ...] = ()
    """The same samples with those of the arms that they were taken between; empty: it was not timed between them."""
    median_us: Microseconds | None
    ratio: Positive | None
    """Its median over the baseline's median in this row."""
    max_rel_error: Positive | Literal[0] | None = None
    """Its largest difference from the oracle over its row's largest output."""
    reason: str | None
    """Why there is no number."""

    @model_validator(mode="after")
    def _a_number_or_a_reason(self) -> Self:
        numbers = (self.median_us is not None, self.ratio is not None, bool(self.samples_us))
        if any(numbers) != all(numbers) or any(numbers) == (self.reason is not None):
            raise ValueError(f"peer {self.name}: has a number or a reason, not both nor half")
        if self.median_us is not None:
            _require_median(f"peer {self.name}", self.median_us, self.samples_us)
        if self.beside and self.samples_us != tuple(us for block in self.beside for us in block.peer_us):
            raise ValueError(f"peer {self.name}: samples_us contradicts what was taken beside the arms")
        return self


class Row(Model):
    """One row of the experiment. It is timed only if it relates as the experiment says, on this device."""

    case: RowCase
    relation: Relation
    status: Literal["timed", "fails parity"]
    kv_bytes: Whole
    """Bytes of K and V that a call reads once, as the case stores them."""
    buffer_sets: Whole
    """Copies of K and V that the calls rotate over."""
    rotated_bytes: Whole
    """Bytes of all sets together: several times the L2."""
    baseline: ArmRow
    candidate: ArmRow
    parity: tuple[Check, ...] = Field(min_length=1)
    """Of both arms on this device, before the timing."""
    timing: Comparison | None
    above_peak: bool | None
    """Whether a median would take more than the memory's peak; null where the peak is unknown or nothing was timed."""
    floors: tuple[Floor, ...]
    peers: tuple[PeerRow, ...]

    @model_validator(mode="after")
    def _status_follows_from_payload(self) -> Self:
        holds = all(check.holds for check in self.parity)
        if (self.status == "timed") != holds:
            raise ValueError(f"status: {self.status} contradicts the parity, which {'holds' if holds else 'fails'}")
        if (self.timing is not None) != (self.status == "timed"):
            raise ValueError(f"timing: {'must' if holds else 'must not'} be there for a row with status {self.status}")
        return self

    @model_validator(mode="after")
    def _each_peer_once(self) -> Self:
        require_once("peers", (peer.name for peer in self.peers))
        return self

    @model_validator(mode="after")
    def _derived_follows(self) -> Self:
        self.case.require_kv_bytes(self.kv_bytes)
        require_rotated(self.rotated_bytes, self.buffer_sets, self.kv_bytes)
        for peer in self.peers:
            stated = peer.ratio
            base = self.timing.baseline_us if self.timing else None
            if stated is None or peer.median_us is None:
                continue
            if base is None or not math.isclose(stated, peer.median_us / base, rel_tol=_ROUNDING):
                raise ValueError(f"peer {peer.name}: a ratio of {stated} contradicts the two medians")
        return self

    @model_validator(mode="after")
    def _floors_stand_beside_times(self) -> Self:
        names = sorted(floor.name for floor in self.floors)
        if self.timing is not None and names != ["empty", "read"]:
            raise ValueError(f"floors: {', '.join(names) or 'none'}, and a row that is timed has empty and read")
        return self

    @model_validator(mode="after")
    def _two_programs_called_alike(self) -> Self:
        if self.baseline.ptx_sha256 == self.candidate.ptx_sha256:
            raise ValueError("ptx_sha256: both arms ran the same module")
        calls = (self.baseline.calls, self.candidate.calls)
        if calls[0] != calls[1] and not _last_alike(calls, self.timing):
            raise ValueError(f"calls: {calls[0]} and {calls[1]} share a graph's start unequally")
        return self

    @model_validator(mode="after")
    def _plans_fit_the_case(self) -> Self:
        for side in (self.baseline, self.candidate):
            require_plan_fits(side.arm, side.plan, self.case.kv_len)
        return self

    @model_validator(mode="after")
    def _relation_fits_the_plans(self) -> Self:
        if self.relation == "bitwise" and self.baseline.plan.key != self.candidate.plan.key:
            raise ValueError(
                f"relation: bitwise between the plans {self.baseline.plan.key} and {self.candidate.plan.key}"
            )
        return self


def _last_alike(calls: tuple[int, int], timing: Comparison | None) -> bool:
    """Whether the side with fewer calls is so slow that its graph lasts about as long as the other's, or longer."""
    if timing is None:
        return False
    (few, few_us), (many, many_us) = sorted(zip(calls, (timing.baseline_us, timing.candidate_us), strict=True))
    return few * few_us >= _LEAST_LASTING * many * many_us


class Control(Model):
    """A question whose answer is known: two sides that are equal, or one made slower on purpose."""

    kind: Literal["a/a", "planted"]
    case: Name
    """The row whose inputs and baseline arm it used."""
    kv_len: Whole
    planted_percent: Percent
    """How much more work the candidate side was given; 0 for an A/A."""
    timing: Comparison
    passed: bool
    """a/a: the interval holds 1. planted: the whole interval is above 1."""

    @model_validator(mode="after")
    def _passed_follows_from_the_interval(self) -> Self:
        if (self.kind == "a/a") != (self.planted_percent == 0):
            raise ValueError(f"planted_percent: {self.planted_percent} in a control of kind {self.kind}")
        ratio = self.timing.ratio
        passed = ratio.low <= 1 <= ratio.high if self.kind == "a/a" else ratio.low > 1
        if self.passed != passed:
            raise ValueError(f"passed: {self.passed} contradicts the interval {ratio.low} to {ratio.high}")
        return self


def _require_median(what: str, stated: float, samples: Sequence[float]) -> None:
    median = statistics.median(samples)
    if not math.isclose(stated, median, rel_tol=_ROUNDING):
        raise ValueError(f"{what}: median_us {stated} contradicts its samples, whose median is {median}")
