"""The result of a sweep: raw samples, and what follows from them, apart."""

from __future__ import annotations

import statistics
from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.experiment.model import Whole
from diffcheck.receipts.ab.host import AbTool, HostFacts
from diffcheck.receipts.ab.rows import Floor
from diffcheck.receipts.ab.samples import Interval, Microseconds, Reading
from diffcheck.receipts.cases import CallFacts, PlanFacts, require_plan_fits
from diffcheck.receipts.copies import require_copies
from diffcheck.receipts.fields import Count, Model, Name, Sha256, Target
from diffcheck.receipts.looked_at import wrong_check
from diffcheck.receipts.metrics import Check
from diffcheck.repeated import require_once

SCHEMA = "diffcheck-tune/1"
MIN_ROUNDS = 12
"""The fewest rounds that count of which an interval is made."""
MAX_ROUNDS = 400
"""The most that a run takes: what reads a result makes its intervals anew."""


class TunedCase(CallFacts):
    """The calls that were timed."""

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
    warps: Whole
    rows: Whole
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

    @model_validator(mode="after")
    def _is_its_choice(self) -> Self:
        tile = f"w{self.warps}r{self.rows}"
        expected = f"{self.arm} {tile} {self.policy}"
        if self.name != expected:
            raise ValueError(f"name: {self.name} contradicts arm, warps, rows and policy, which say {expected}")
        if (self.plan.tile, self.plan.policy) != (tile, self.policy):
            raise ValueError(f"plan: {self.plan.tile} {self.plan.policy} contradicts {tile} {self.policy}")
        return self

    @model_validator(mode="after")
    def _numbers_are_there_with_samples(self) -> Self:
        timed = bool(self.samples_us)
        if timed and not self.holds:
            raise ValueError(f"samples_us: {self.name} failed a check and was timed")
        if (self.median_us is not None) != timed:
            raise ValueError(f"median_us: {self.median_us} of {self.name}, which has {len(self.samples_us)} samples")
        if (self.ratio is not None) != (timed and not self.incumbent):
            wanted = "must" if timed and not self.incumbent else "must not"
            raise ValueError(f"ratio: {wanted} be there for {self.name}")
        return self

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
    def _variants_are_of_the_case(self) -> Self:
        self.case.require_kv_bytes(self.kv_bytes)
        require_once("variants", (one.name for one in self.variants))
        for one in self.variants:
            require_plan_fits(one.name, one.plan, self.case.kv_len)
            wrong = wrong_check(one.checks, self.case, one.plan)
            if wrong:
                raise ValueError(f"{one.name}: {wrong}")
        for arm in {one.arm for one in self.variants}:
            own = [one for one in self.variants if one.arm == arm]
            incumbents = [one for one in own if one.incumbent]
            if len(incumbents) != 1:
                raise ValueError(f"variants: {arm} has not exactly one incumbent")
            if not incumbents[0].samples_us and any(one.samples_us for one in own):
                raise ValueError(f"variants: {arm} was timed without its incumbent, {incumbents[0].name}")
        return self

    @model_validator(mode="after")
    def _rounds_are_enough_and_not_too_many(self) -> Self:
        counted = sum(one.dropped is None for one in self.rounds)
        if len(self.rounds) > MAX_ROUNDS:
            raise ValueError(f"rounds: {len(self.rounds)}, and a run takes {MAX_ROUNDS} at the most")
        if self.rounds and counted < MIN_ROUNDS:
            raise ValueError(f"rounds: {counted} of {len(self.rounds)} count, and {MIN_ROUNDS} are needed")
        if self.rounds and not (self.buffer_sets and self.calls):
            raise ValueError(f"buffer_sets, calls: {self.buffer_sets} and {self.calls} of a row that was timed")
        if self.rounds and self.calls % self.buffer_sets:
            raise ValueError(f"calls: {self.calls} are no whole passes over {self.buffer_sets} copies")
        names = [floor.name for floor in self.floors]
        if names != (["read"] if self.rounds else []):
            raise ValueError(f"floors: {', '.join(names) or 'none'} of a row with {len(self.rounds)} rounds")
        return self

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
    seconds_per_row: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    status: Literal["holds", "fails"]
    """Whether every variant had the reference's bits."""
    rows: tuple[TunedRow, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_checks(self) -> Self:
        wrong = any(not one.holds for row in self.rows for one in row.variants)
        if (self.status == "fails") != wrong:
            raise ValueError(f"status: {self.status} contradicts the checks")
        # Every variant is timed where all of them hold.
        untimed = [one.name for row in self.rows for one in row.variants if not one.samples_us]
        if not wrong and untimed:
            raise ValueError(f"status: {self.status}, and {untimed[0]} was not timed")
        return self

    @model_validator(mode="after")
    def _each_call_once(self) -> Self:
        cases = [row.case for row in self.rows]
        require_once("rows", (one.name for one in cases))
        require_once(
            "rows",
            (
                f"{one.num_q_heads}:{one.num_kv_heads} of {one.head_dim} {one.storage} at {one.kv_len} keys"
                for one in cases
            ),
        )
        return self

    @model_validator(mode="after")
    def _copies_lie_outside_the_l2(self) -> Self:
        for row in self.rows:
            if row.rounds:
                require_copies(row.case.name, row.buffer_sets, row.kv_bytes, self.host.l2_bytes)
        return self

    @model_validator(mode="after")
    def _plans_are_of_one_contract_and_profile(self) -> Self:
        for row in self.rows:
            for one in row.variants:
                if one.plan.key.split("|")[0] != self.contract:
                    raise ValueError(f"contract: {self.contract} contradicts the plan {one.plan.key}")
                if one.plan.profile != self.profile:
                    raise ValueError(f"profile: {self.profile} contradicts the plan {one.plan.key}")
        return self
