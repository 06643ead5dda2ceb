"""Plant mutants one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from diffcheck.errors import BadInputError
from diffcheck.selftest.base import Mutant
from diffcheck.selftest.model import MutantResult, SelfTest


def run_mutants(mutants: Sequence[Mutant], advance: Callable[[str], None]) -> SelfTest:
    """Run every mutant. `advance` is called with a mutant's name as it is done.

    Raises `BadInputError` when there is none and `StaleMutantError` for one that can no longer be planted.
    """
    if not mutants:
        raise BadInputError("mutant", "none", "at least one mutant")
    results: list[MutantResult] = []
    for mutant in mutants:
        results.append(run_mutant(mutant))
        advance(mutant.name)
    status = "holds" if all(result.caught for result in results) else "fails"
    return SelfTest.model_validate({"status": status, "mutants": results})


def run_mutant(mutant: Mutant) -> MutantResult:
    """Plant one mutant and say whether the check that is meant to catch it did."""
    start = time.perf_counter()
    finding = mutant.plant()
    return MutantResult(
        name=mutant.name,
        where=mutant.where,
        what=mutant.what,
        meant_for=mutant.meant_for,
        caught_by=finding.caught_by,
        caught=mutant.meant_for in finding.caught_by and not finding.unexpected,
        evidence=finding.unexpected or finding.evidence,
        seconds=time.perf_counter() - start,
    )
