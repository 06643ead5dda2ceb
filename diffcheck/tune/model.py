"""The result of a sweep: raw samples, and what follows from them, apart."""

from __future__ import annotations

import statistics
from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.receipts.ab.host import AbTool, HostFacts
from diffcheck.receipts.ab.rows import Floor
from diffcheck.receipts.ab.samples import Interval, Microseconds, Reading
from diffcheck.receipts.cases import PlanFacts
from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target
from diffcheck.receipts.metrics import Check

SCHEMA = "diffcheck-tune/1"


class TunedCase(Model):
    """The calls that were timed."""

    name: Name
    num_q_heads: Count
    num_kv_heads: Count
    head_dim: Count
    kv_len: Count
    storage: Literal["f32", "f16"]

    @property
    def group_size(self) -> int:
        """Query heads a KV head."""
        return self.num_q_heads // self.num_kv_heads


class Round(Model):
    """One pass over all variants, there and back, on graphs and places of its own."""

    order: tuple[Name, ...] = Field(min_length=1)
    """The variants in the order of the way there; they come back in the reverse order."""
    readings: tuple[Reading, Reading, Reading]
    """The device's state before the round, between the two ways, and after it."""
    dropped: Name | None
    """Why the round takes no part in what is derived; null: it does."""


class TunedVariant(Model):
    """A choice of one arm."""

    name: Name
    arm: Name
    warps: Count
    rows: Count
    policy: Name
    incumbent: bool
    """Whether it is what the arm's calls get now; the others are measured against it."""
    plan: PlanFacts
    ptx_sha256: Sha256
    checks: tuple[Check, ...] = Field(min_length=1)
    """Made before anything was timed; a variant that fails one is not timed."""
    samples_us: tuple[Microseconds, ...]
    """Microseconds a call: of each round the replay of the way there, then that of the way back."""
    median_us: Microseconds | None
    """Median over the rounds that were not dropped; null: not timed."""
    ratio: Interval | None
    """Its time over the incumbent's, by rounds; null for the incumbent, and where it was not timed."""

    @property
    def holds(self) -> bool:
        """Whether every check does."""
        return all(check.holds for check in self.checks)


class RefusedVariant(Model):
    """A choice of one arm that no kernel can be made for, or that is another's double."""

    name: Name
    arm: Name
    reason: Name


class TunedRow(Model):
    """One kind of call: all variants of all arms, interleaved."""

    case: TunedCase
    kv_bytes: Count
    buffer_sets: Count
    """Copies of K and V that the calls rotate over."""
    calls: Count
    """Calls in one graph, the same for all."""
    rounds: tuple[Round, ...]
    variants: tuple[TunedVariant, ...] = Field(min_length=1)
    refused: tuple[RefusedVariant, ...]
    floors: tuple[Floor, ...]

    @model_validator(mode="after")
    def _samples_are_of_the_rounds(self) -> Self:
        timed = [one for one in self.variants if one.samples_us]
        names = {one.name for one in timed}
        for one in timed:
            if len(one.samples_us) != 2 * len(self.rounds):
                raise ValueError(f"{one.name}: {len(one.samples_us)} samples of {len(self.rounds)} rounds, two of each")
            if one.median_us != statistics.median(self.used(one)):
                raise ValueError(f"{one.name}: median_us {one.median_us} is not that of the samples")
        if any(set(round_.order) != names or len(round_.order) != len(names) for round_ in self.rounds):
            raise ValueError("rounds: the order of one does not name each variant with samples once")
        for arm in {one.arm for one in self.variants}:
            if sum(one.incumbent for one in self.variants if one.arm == arm) != 1:
                raise ValueError(f"variants: {arm} has not exactly one incumbent")
        if any(one.samples_us and not one.holds for one in self.variants):
            raise ValueError("variants: one that failed a check was timed")
        return self

    def used(self, variant: TunedVariant) -> tuple[float, ...]:
        """Return the samples of the rounds that were not dropped."""
        pairs = zip(variant.samples_us[::2], variant.samples_us[1::2], self.rounds, strict=True)
        return tuple(us for there, back, round_ in pairs if round_.dropped is None for us in (there, back))

    def incumbent_of(self, arm: str) -> TunedVariant:
        """Return an arm's incumbent."""
        return next(one for one in self.variants if one.arm == arm and one.incumbent)


class TuneResult(Model):
    """What `diffcheck tune` writes: a sweep on one device."""

    schema_name: Literal["diffcheck-tune/1"] = Field(default="diffcheck-tune/1", alias="schema")
    tool: AbTool
    contract: Name
    host: HostFacts
    target: Target
    """The architecture that PTX was built for."""
    profile: Name
    profile_arch: Target
    """The architecture by which the planner looks the tile up: the profile's."""
    table: Name
    """Name of the tile table that the incumbents come from."""
    table_sha256: Sha256
    seconds_per_row: float
    status: Literal["holds", "fails"]
    """Whether every variant had the reference's bits."""
    rows: tuple[TunedRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_checks(self) -> Self:
        wrong = any(not one.holds for row in self.rows for one in row.variants)
        if (self.status == "fails") != wrong:
            raise ValueError(f"status: {self.status} contradicts the checks")
        return self
