"""A page's tables on the terminal."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from diffcheck import terminal
from diffcheck.review.tables.base import Table, Tone

_STYLES: dict[Tone, str] = {"good": "green", "warn": "yellow", "bad": "bold red", "dim": "dim", "": ""}


def rich_table(title: str, made: Table) -> RichTable:
    """Return a table with the tones of its cells as colours."""
    rows = [[Text(cell.text, style=_STYLES[cell.tone]) for cell in row] for row in made.rows]
    return terminal.table(title, made.columns, rows, tuple(made.numeric))
