"""What a mutant is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from diffcheck.errors import DiffcheckError
from diffcheck.selftest.model import Where


class StaleMutantError(DiffcheckError):
    """A mutant that can no longer be planted: the code it changes has moved. An error, never a pass."""


@dataclass(frozen=True)
class Finding:
    """What the harness made of a planted fault.

    `caught_by` are the checks that failed; `unexpected` says, in one line, what moved that must not have (empty when
    nothing did); `evidence` is what the check said.
    """

    caught_by: tuple[str, ...]
    evidence: str
    unexpected: str = ""


@dataclass(frozen=True)
class Mutant:
    """One planted fault.

    `where` it is planted, `what` it does wrong, and the check it is `meant_for`: it counts as caught only if that
    check fails, whatever else does. `plant` plants it, runs the harness and returns what was found; it raises
    `StaleMutantError` when it cannot be planted.
    """

    name: str
    where: Where
    what: str
    meant_for: str
    plant: Callable[[], Finding]
