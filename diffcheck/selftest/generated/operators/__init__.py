"""The operators: each makes faults of one kind out of a statement. docs/mutants.md lists them."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.errors import choose

# Each of these fills the registry as it is imported.
from diffcheck.selftest.generated.operators import (  # noqa: F401
    addresses,
    branches,
    comparisons,
    constants,
    guards,
    opcodes,
    registers,
    rounding,
    shuffles,
    statements,
    synchronisation,
    types,
)
from diffcheck.selftest.generated.operators.base import Change, Operator, registered

__all__ = ["Change", "Operator", "all_operators", "select_operators"]


def all_operators() -> tuple[Operator, ...]:
    """Return every operator, those of one kind together."""
    return tuple(registered().values())


def select_operators(names: Sequence[str]) -> tuple[Operator, ...]:
    """Return the named operators, or all. Raises `BadInputError` for a name that does not exist."""
    wanted = {choose("operator", name, registered()) for name in names}
    return tuple(operator for operator in all_operators() if not names or operator.name in wanted)
