"""All faults, and the cases that they name."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from diffcheck.cases import Case
from diffcheck.errors import BadInputError
from diffcheck.faults.model import Fault

SUITE = "faults"


@cache
def all_faults() -> tuple[Fault, ...]:
    """Every fault, those of one topic together. Raises `BadInputError` for two of one name."""
    # Imported late: the rows are written in terms of cases.
    from diffcheck.faults.rows import ROWS

    seen: set[str] = set()
    for fault in ROWS:
        if fault.name in seen:
            raise BadInputError("fault", fault.name, "a name that no other fault has")
        seen.add(fault.name)
    return ROWS


def fault_cases() -> dict[str, Case]:
    """Every case that a fault names, by name, in the suite `faults` and no other.

    Raises `BadInputError` for two different cases of one name.
    """
    found: dict[str, Case] = {}
    for fault in all_faults():
        for named in fault.cases:
            case = replace(named, suites=(SUITE,))
            if found.setdefault(case.name, case) != case:
                raise BadInputError("case", case.name, "the same case wherever a fault names it")
    return found
