"""All mutants. To add one, add it to the list of its kind under `mutants/`; to add a kind, add its list here."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.errors import choose
from diffcheck.selftest.base import Mutant
from diffcheck.selftest.mutants import comparator, files, oxide, ptx, twin


def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant, those in PTX first."""
    return (*ptx.mutants(), *oxide.mutants(), *files.mutants(), *twin.mutants(), *comparator.mutants())


def select_mutants(names: Sequence[str]) -> tuple[Mutant, ...]:
    """Return the named mutants in the registry's order, or all. Raises `BadInputError` for an unknown name."""
    known = all_mutants()
    wanted = {choose("mutant", name, [mutant.name for mutant in known]) for name in names}
    return tuple(mutant for mutant in known if not names or mutant.name in wanted)
