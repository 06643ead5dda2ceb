"""All mutants. To add one, add it to the list of its kind under `mutants/`; to add a kind, add its list here."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.errors import choose
from diffcheck.selftest.base import Mutant
from diffcheck.selftest.mutants import comparator, files, generated, oracle, oxide, planner, ptx, receipt, twin


def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant, those in PTX first."""
    kinds = (ptx, oxide, generated, files, twin, oracle, planner, receipt, comparator)
    return tuple(mutant for kind in kinds for mutant in kind.mutants())


def select_mutants(names: Sequence[str]) -> tuple[Mutant, ...]:
    """Return the named mutants in the registry's order, or all. Raises `BadInputError` for an unknown name."""
    known = all_mutants()
    wanted = {choose("mutant", name, [mutant.name for mutant in known]) for name in names}
    return tuple(mutant for mutant in known if not names or mutant.name in wanted)
