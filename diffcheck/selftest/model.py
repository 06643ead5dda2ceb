"""The record of a self-test."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Model, Name, Real

Where = Literal["ptx", "files", "twin", "oracle", "planner", "receipt", "comparator"]


class MutantResult(Model):
    """One planted fault and what became of it."""

    name: Name
    where: Where
    """What it was planted in."""
    what: str
    """The fault, in words."""
    meant_for: Name
    """The check that is meant to catch it."""
    caught_by: tuple[str, ...]
    """The checks that did."""
    caught: bool
    """Whether the check that is meant to catch it did, and nothing moved that should not."""
    evidence: str
    """What the check said, one line."""
    seconds: Real


class SelfTest(Model):
    """Every mutant of the registry, or of a selection from it."""

    status: Literal["holds", "fails"]
    mutants: tuple[MutantResult, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _status_follows_from_mutants(self) -> Self:
        expected = "holds" if all(mutant.caught for mutant in self.mutants) else "fails"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the mutants, which say {expected}")
        return self


class SelfTestNotRun(Model):
    """The self-test was not part of this run."""

    status: Literal["not run"] = "not run"
    reason: Name
