"""What is known of one public fault, and what covers it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from diffcheck.cases import Case

Topic: TypeAlias = Literal["numerics", "indexing", "launch and plan", "toolchain", "timing and evidence"]
Status: TypeAlias = Literal["covered", "in part", "waiting"]


@dataclass(frozen=True)
class Fault:
    """A fault that someone shipped in code like this, and what here would have caught it.

    `reports` are repository and number, by which each can be looked up (a plain number is an issue). `input` is what
    brought the fault out and `right` what should come out. It is covered by `cases` (all of them in the suite
    `faults`, to which being named here adds them), `tests` (pytest node ids, or `file.rs::test` of a Rust test) and
    `commands`. `waits_for` says what has to be built before the rest can be covered.
    """

    name: str
    topic: Topic
    reports: tuple[str, ...]
    input: str
    right: str
    cases: tuple[Case, ...] = ()
    tests: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    waits_for: str = ""

    @property
    def status(self) -> Status:
        """How far the fault is covered."""
        if self.waits_for:
            return "in part" if self.cases or self.tests or self.commands else "waiting"
        return "covered"

    def to_json(self) -> dict[str, object]:
        """Every field, with cases by name, as JSON types."""
        return {
            "name": self.name,
            "topic": self.topic,
            "status": self.status,
            "reports": list(self.reports),
            "input": self.input,
            "right": self.right,
            "cases": [case.name for case in self.cases],
            "tests": list(self.tests),
            "commands": list(self.commands),
            "waits_for": self.waits_for,
        }


def in_both(*cases: Case) -> tuple[Case, ...]:
    """Each case in both storages of K and V."""
    return tuple(
        replace(case, name=case.name.replace(f"-{case.storage}", f"-{storage}", 1), storage=storage)
        for case in cases
        for storage in ("f16", "f32")
    )
