"""All mutants. To add one, add it to the list of its kind under `mutants/`; to add a kind, add its list here."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from diffcheck.errors import BadInputError
from diffcheck.selftest.base import Mutant
from diffcheck.selftest.mutants import comparator, files, generated, oracle, oxide, planner, ptx, receipt, twin


def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant, those in PTX first."""
    kinds = (ptx, oxide, generated, files, twin, oracle, planner, receipt, comparator)
    return tuple(mutant for kind in kinds for mutant in kind.mutants())


def select_mutants(names: Sequence[str]) -> tuple[Mutant, ...]:
    """Return the named mutants in the registry's order, or all. Raises `BadInputError` for an unknown name."""
    known = all_mutants()
    _require_known(names, [mutant.name for mutant in known])
    return tuple(mutant for mutant in known if not names or mutant.name in names)


def _require_known(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a name that no mutant has, with the nearest ones: all of them would fill the screen."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            such = f", such as {' or '.join(near)}" if near else ""
            raise BadInputError("mutant", name, f"a name that `diffcheck list mutants` prints{such}")
