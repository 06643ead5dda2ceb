"""Survivors that are equivalent for a reason that no rule proves: each kind is written down in `justified.toml`.

An entry names the operator, arm and kernels, patterns that the statement, its change and the statements around it must
match, why the mutant is equivalent, and how many mutants there are of the kind for the default target. The number is
tested, so that an entry whose mutants have changed or gone is found, and one that matches more than was looked at too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources

import tomli

from diffcheck.errors import BadInputError
from diffcheck.repeated import first_repeated
from diffcheck.selftest.generated.operators import select_operators
from diffcheck.selftest.generated.population import ARMS, GeneratedMutant, made, subjects

FILE = "justified.toml"
COUNTED_FOR = "sm_90"
AROUND = 12
"""How many statements before and behind belong to a statement's surroundings."""
_KEYS = ("name", "operators", "arms", "kernels", "line", "change", "before", "behind", "count", "because")
_OPTIONAL = {"change": "", "before": "", "behind": ""}


@dataclass(frozen=True)
class Justification:
    """One kind of mutant and why it is equivalent.

    `line` must match all of the statement; `change` is looked for in "DETAIL: what it became", `before` and `behind` in
    the `AROUND` statements before and behind, one a line, the nearest last and first; an empty pattern is always found.
    """

    name: str
    operators: tuple[str, ...]
    arms: tuple[str, ...]
    kernels: str
    line: str
    change: str
    before: str
    behind: str
    count: int
    because: str

    def fits(self, mutant: GeneratedMutant) -> bool:
        """Tell whether a mutant is of this kind."""
        subject = mutant.subject
        if mutant.operator.name not in self.operators or subject.arm not in self.arms:
            return False
        if not fnmatchcase(subject.entry, self.kernels) or not re.fullmatch(self.line, mutant.line_text):
            return False
        if not re.search(self.change, f"{mutant.change.detail}: {mutant.became}"):
            return False
        kernel, at = subject.flow.kernel, mutant.statement.index
        before = "\n".join(map(kernel.line_text, kernel.statements[max(at - AROUND, 0) : at]))
        behind = "\n".join(map(kernel.line_text, kernel.statements[at + 1 : at + 1 + AROUND]))
        return bool(re.search(self.before, before) and re.search(self.behind, behind))


@cache
def justifications() -> tuple[Justification, ...]:
    """Return every entry of the file. Raises `BadInputError` for one that is incomplete or says what does not exist."""
    text = resources.files("diffcheck.selftest.generated").joinpath(FILE).read_text(encoding="utf-8")
    return parse_justifications(text)


def parse_justifications(text: str) -> tuple[Justification, ...]:
    """Return the entries of a file's text; see `justifications`."""
    found = tuple(_entry(table) for table in tomli.loads(text).get("kind", []))
    name = first_repeated(entry.name for entry in found)
    if name is not None:
        raise BadInputError("name", name, "a name that no other kind has")
    return found


def justification_of(mutant: GeneratedMutant) -> Justification | None:
    """Return the first entry that a mutant fits, or None."""
    return next((entry for entry in justifications() if entry.fits(mutant)), None)


def population_of(entry: Justification, target: str = COUNTED_FOR) -> Iterator[GeneratedMutant]:
    """Yield every mutant that an entry speaks of."""
    for subject in subjects(entry.arms, target):
        for operator in select_operators(entry.operators):
            yield from (mutant for mutant in made(subject, operator) if entry.fits(mutant))


def _entry(table: dict[str, object]) -> Justification:
    table = {**_OPTIONAL, **table}
    for key in table:
        if key not in _KEYS:
            raise BadInputError(f"{FILE}: kind", key, ", ".join(_KEYS))
    for key in _KEYS:
        if key not in table:
            raise BadInputError(f"{FILE}: {table.get('name', 'a kind')}", f"no {key}", ", ".join(_KEYS))
    operators, arms = _names(table, "operators"), _names(table, "arms")
    select_operators(operators)
    for arm in arms:
        if arm not in ARMS:
            raise BadInputError(f"{FILE}: {table['name']}: arms", arm, ", ".join(ARMS))
    count = table["count"]
    if not isinstance(count, int) or count < 1:
        raise BadInputError(f"{FILE}: {table['name']}: count", count, "a whole number >= 1")
    texts = {key: str(table[key]) for key in ("name", "kernels", "line", "change", "before", "behind")}
    because = " ".join(str(table["because"]).split())
    return Justification(**texts, operators=operators, arms=arms, count=count, because=because)


def _names(table: dict[str, object], key: str) -> tuple[str, ...]:
    value = table[key]
    if not isinstance(value, list) or not value:
        raise BadInputError(f"{FILE}: {table['name']}: {key}", value, "a list of names")
    return tuple(map(str, value))
