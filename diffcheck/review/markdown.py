"""Texts and tables as GitHub's Markdown. What a receipt says is not trusted: no text of it becomes markup."""

from __future__ import annotations

import re

from diffcheck.review.numbers import plain
from diffcheck.review.tables.base import Cell, Table, Tone

_SIGNS: dict[Tone, str] = {"good": "", "warn": "⚠ ", "bad": "✗ ", "dim": "", "": ""}
# An underscore inside a word is one.
_MARKUP = re.compile(r"([\\`*\[\]<>#|~&]|(?<!\w)_|_(?!\w))")
# A zero-width space keeps a site from making a link, or a mention that sends mail, of these.
_LINKS = re.compile(r"(@|://|www\.)")


def as_text(value: object) -> str:
    """Return a text that shows as it is."""
    quiet = _LINKS.sub(lambda found: f"{found[1]}\u200b", plain(str(value)))
    return _MARKUP.sub(lambda found: f"&#{ord(found[1])};", quiet)


def as_code(value: str) -> str:
    """Return a text to be copied, as code; a backtick or line break cannot end it."""
    shown = plain(value).replace("`", "'").replace("|", "¦")
    return f"`{shown}`" if shown.strip() else ""


def markdown_table(table: Table) -> str:
    """Return a table."""
    head = " | ".join(as_text(column) for column in table.columns)
    rule = "|".join("---:" if column in table.numeric else "---" for column in table.columns)
    lines = [f"| {head} |", f"|{rule}|"]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in table.rows]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    return _SIGNS[cell.tone] + (as_code(cell.text) if cell.code else as_text(cell.text))
