"""What an experiment asks: which arms, how they must relate, on which rows, and how long to measure."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Model, Name, Target
from diffcheck.repeated import require_once

Relation = Literal["bitwise", "bounded"]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=1)]


class Arms(Model):
    """Who runs against whom."""

    baseline: Name
    """The arm that is in use."""
    candidate: Name
    """The arm that asks to replace it."""
    peers: tuple[Name, ...] = ()
    """Other implementations, timed beside the two where they are installed. For information only."""

    @model_validator(mode="after")
    def _two_arms(self) -> Self:
        if self.baseline == self.candidate:
            raise ValueError(f"baseline and candidate are both {self.baseline}")
        require_once("peers", self.peers)
        return self


class Split(Model):
    """The split policy of each arm, spelled as in the contract (`one-wave`, `fixed:33`); `table`: the tile table's."""

    baseline: Name
    candidate: Name


class Rows(Model):
    """A family of rows: every combination of heads, storages and lengths under one generator."""

    generator: Name
    heads: tuple[tuple[Whole, Whole], ...] = Field(min_length=1)
    """Query heads and KV heads."""
    storages: tuple[Literal["f32", "f16"], ...] = Field(min_length=1)
    kv_lens: tuple[Whole, ...] = Field(min_length=1)
    baseline: Name | None = None
    """Another baseline arm for these rows; null: the experiment's."""


class Budget(Model):
    """When a row has been measured long enough: the interval is narrow, or the budget is spent."""

    interval_width: Positive
    """Sample until the ratio's 95 % interval is at most this wide, as a part of the ratio."""
    seconds_per_row: Positive
    """The most seconds of sampling a row."""
    min_blocks: Annotated[int, Field(ge=2)]
    """The fewest undropped ABBA blocks a row or a control, however narrow the interval."""
    max_blocks: Annotated[int, Field(ge=1, le=10_000)]
    """The most ABBA blocks a row or a control, those that were dropped counted."""

    @model_validator(mode="after")
    def _blocks_in_order(self) -> Self:
        if self.max_blocks < self.min_blocks:
            raise ValueError(f"max_blocks {self.max_blocks} is below min_blocks {self.min_blocks}")
        return self


class Experiment(Model):
    """One question that an A/B can answer."""

    schema_name: Literal["diffcheck-experiment/1"] = Field(alias="schema")
    name: Slug
    """Also the name of its file and of its folder under `evidence/`."""
    title: Name
    question: Name
    relation: Relation
    """bitwise: both arms give the same bits in every row, which only one plan can; bounded: each is within its own
    bound of the f64 oracle."""
    policy: Slug
    """The policy that `diffcheck decide` applies unless told otherwise."""
    required_architectures: tuple[Target, ...]
    """A verdict needs a receipt from a host of each; every other host is advisory. None: for information only."""
    arms: Arms
    split: Split
    rows: tuple[Rows, ...] = Field(min_length=1)
    budget: Budget

    @model_validator(mode="after")
    def _bits_need_one_plan(self) -> Self:
        if self.relation == "bitwise" and self.split.baseline != self.split.candidate:
            raise ValueError(
                f"split: {self.split.baseline} and {self.split.candidate} make two plans, "
                "and bits can be compared only within one: relation must be bounded"
            )
        if len(set(self.required_architectures)) < len(self.required_architectures):
            raise ValueError("required_architectures: names one twice")
        return self
