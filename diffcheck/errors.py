"""Errors that a user meets: each is one line, and the command line turns it into exit code 2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class DiffcheckError(Exception):
    """An ordinary failure that the user can act on; its text is one line."""


class BadInputError(DiffcheckError, ValueError):
    """A value that is not allowed.

    `field` names the value as the user wrote it (an option, a key of a file), `value` is what was given and `allowed`
    says what would have been accepted.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field}: {_one_line(value)} is not allowed; allowed: {allowed}")
        self.field = field
        self.value = value
        self.allowed = allowed


class FaultyFileError(BadInputError):
    """A file in which a field is missing, or says what another contradicts; `reason` says which in one line."""

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(field, value, reason)
        # The value would be all that the fault lies in, and say nothing; the reason has the numbers.
        self.args = (f"{field}: {' '.join(reason.split())}",)


class MissingRequirementError(DiffcheckError):
    """Something that this machine lacks; `remedy` says how to get it."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what = what
        self.remedy = remedy


def choose(field: str, value: str, names: Iterable[str]) -> str:
    """Return `value` if it is one of `names`; raise `BadInputError` that lists them otherwise."""
    known = list(names)
    if value not in known:
        raise BadInputError(field, value, ", ".join(known) if known else "nothing")
    return value


def first_wrong(what: str, error: ValidationError) -> BadInputError:
    """Return the first thing that a model refuses, in one line; `what` names the file."""
    first = error.errors()[0]
    place, kind = [str(part) for part in first["loc"]], first["type"]
    where = f"{what}, {'.'.join(place) or 'whole file'}"
    if kind == "missing":
        return FaultyFileError(where, first["input"], "is missing")
    if kind == "value_error":
        # What a model's own check says: it names fields and values.
        return FaultyFileError(where if place else what, first["input"], str(first["ctx"]["error"]))
    return BadInputError(where, first["input"], first["msg"])


def _one_line(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else text[:117] + "..."
