"""The record of a run of generated mutants."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.receipts.fields import Count, Model, Name, Real, Target

Outcome = Literal["killed", "equivalent", "justified", "survived", "contradiction"]
REQUIRED_PERCENT = 98.0


class GeneratedResult(Model):
    """One generated mutant and what became of it."""

    id: Name
    """Arm, target, kernel, line, operator and detail."""
    arm: Name
    kernel: Name
    place: Name
    """The line in the kernel's module, with the statement's number where several stand in one line."""
    operator: Name
    line: Name
    """The statement."""
    became: Name
    """What stands in its place."""
    outcome: Outcome
    """killed: a check failed. equivalent: a rule proves that it computes the same. justified: the same, in writing for
    this mutant. survived: no check failed and no one knows why. contradiction: a check failed on what was called
    equivalent."""
    by: str
    """The check that failed first, or the rule; empty for a survivor."""
    case: str
    """The case on which it failed; empty where none was needed."""
    evidence: str
    """What the check said, one line."""
    seconds: Real


class GeneratedRun(Model):
    """A random sample of generated mutants."""

    status: Literal["holds", "fails"]
    """Whether enough of the mutants that are not equivalent were killed, and no rule was contradicted."""
    seed: int
    target: Target
    arms: tuple[Name, ...] = Field(min_length=1)
    operators: tuple[Name, ...] = Field(min_length=1)
    redrawn: Count
    """Mutants that were drawn and are no PTX, so that others were drawn in their place."""
    required_percent: Real
    kill_percent: Real
    """Killed mutants of those that are not equivalent, in percent; 0 where there are none."""
    mutants: tuple[GeneratedResult, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _conclusion_follows_from_mutants(self) -> Self:
        percent = kill_percent(self.mutants)
        if self.kill_percent != percent:
            raise ValueError(f"kill_percent: {self.kill_percent} contradicts the mutants, which say {percent}")
        expected = status_of(self.mutants, self.required_percent)
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the mutants, which say {expected}")
        return self


def kill_percent(mutants: tuple[GeneratedResult, ...]) -> float:
    """Return killed / (planted - equivalent) in percent; 0 where every mutant is equivalent or there is none."""
    killed = sum(mutant.outcome in ("killed", "contradiction") for mutant in mutants)
    survived = sum(mutant.outcome == "survived" for mutant in mutants)
    return 100.0 * killed / (killed + survived) if killed + survived else 0.0


def status_of(mutants: tuple[GeneratedResult, ...], required: float) -> Literal["holds", "fails"]:
    """Return the conclusion from the mutants."""
    contradicted = any(mutant.outcome == "contradiction" for mutant in mutants)
    killed = any(mutant.outcome == "killed" for mutant in mutants)
    return "holds" if killed and not contradicted and kill_percent(mutants) >= required else "fails"
