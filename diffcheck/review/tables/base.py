"""What a table is, whatever it is written as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from diffcheck.decide.reasons import Severity
from diffcheck.review.numbers import plain

Tone = Literal["", "good", "warn", "bad", "dim"]
TONES: dict[Severity, Tone] = {"pass": "good", "info": "dim", "inconclusive": "warn", "hold": "warn", "reject": "bad"}


@dataclass(frozen=True)
class Cell:
    """One text, what it means for the reader, and whether it is to be copied as it stands."""

    text: str
    tone: Tone = ""
    code: bool = False


@dataclass(frozen=True)
class Table:
    """Rows under named columns; the columns in `numeric` are set right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[str] = frozenset()


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell | str]], numeric: Sequence[str] = ()) -> Table:
    """Return a table; plain texts become cells, and nothing has control characters."""
    made = tuple(tuple(_cell(cell) for cell in row) for row in rows)
    for row in made:
        if len(row) != len(columns):
            raise AssertionError(f"{len(row)} cells under {len(columns)} columns")
    return Table(tuple(map(plain, columns)), made, frozenset(map(plain, numeric)))


def yes(holds: bool, good: str = "holds", bad: str = "fails", worse: Tone = "bad") -> Cell:
    """Return a conclusion in its tone."""
    return Cell(good, "good") if holds else Cell(bad, worse)


def _cell(cell: Cell | str) -> Cell:
    return Cell(plain(cell)) if isinstance(cell, str) else Cell(plain(cell.text), cell.tone, cell.code)
