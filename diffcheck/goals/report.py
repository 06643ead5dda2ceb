"""What the receipts say of each goal, row by row."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.decide.reasons import Reason
from diffcheck.receipts.ab.host import Commit
from diffcheck.receipts.fields import Count, Model, Name, Real, Sha256, Target

Status = Literal["met", "missed", "not measured"]
Unit = Literal["µs", "ratio", "relative error"]


class SideFound(Model):
    """What one arm reached. Tier measured: it ran on the device."""

    arm: Name
    measured: Real
    """A median in µs a call, the estimate of a ratio, or an error."""
    low: Real | None = None
    high: Real | None = None
    """The ends of a ratio's 95 % interval."""
    share: Real | None = None
    """Of a time goal the part of what is allowed that it takes, of a floor the part of its rate that is reached, of an
    error how many times it is below the peer's."""
    met: bool


class Line(Model):
    """One goal at one row, against one peer where it is of peers."""

    goal: Name
    kind: Literal["time", "floor", "peer", "error", "ratio"]
    experiment: Name
    row: Name
    family: Name
    """What rows have in common that differ in their length."""
    kv_len: Count
    against: Name | None
    """What it is held against: the floor, a peer, the other arm; null: a number."""
    reference: Real | None
    """What that took in µs, or its error; null: there is none, or it was not measured."""
    unit: Unit
    allowed: Real | None
    """The most that is allowed; null where it was not measured."""
    rule: Name
    """The same in words."""
    sides: tuple[SideFound, ...]
    """Empty where it was not measured."""
    receipt: Name | None
    """The file; null: no receipt has the row."""
    counted: bool
    """Whether that receipt counts: it speaks of this tree, and its times can be trusted."""
    status: Status
    reason: Name | None
    """Why it was not measured."""

    @property
    def holds(self) -> bool:
        """Whether the goal is met here, by a receipt that counts."""
        return self.status == "met" and self.counted

    @model_validator(mode="after")
    def _status_follows(self) -> Self:
        if not self.sides:
            expected: Status = "not measured"
        else:
            expected = "met" if all(side.met for side in self.sides) else "missed"
        if self.status != expected or (self.reason is None) != bool(self.sides):
            raise ValueError(f"status: {self.status} contradicts the sides, which say {expected}")
        return self


class Source(Model):
    """A receipt that was read."""

    file: Name
    digest: Sha256
    experiment: Name
    host: Name | None
    commit: Commit | None
    doubts: tuple[Reason, ...]
    """Why it does not count; empty: it does."""


class Report(Model):
    """Every goal of a device, as its receipts have it."""

    schema_name: Literal["diffcheck-goals-report/1"] = Field(default="diffcheck-goals-report/1", alias="schema")
    goals: Name
    title: Name
    device: Name
    arch: Target
    status: Literal["met", "missed"]
    """met: every line is, by a receipt that counts."""
    sources: tuple[Source, ...]
    lines: tuple[Line, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_lines(self) -> Self:
        if (self.status == "met") != all(line.holds for line in self.lines):
            raise ValueError(f"status: {self.status} contradicts the lines")
        return self

    def of_goal(self, title: str) -> tuple[Line, ...]:
        """Return the lines of one goal."""
        return tuple(line for line in self.lines if line.goal == title)

    @property
    def titles(self) -> tuple[str, ...]:
        """The goals, in the order of their file."""
        return tuple(dict.fromkeys(line.goal for line in self.lines))
