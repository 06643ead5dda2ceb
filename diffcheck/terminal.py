"""Tables on standard output, a progress bar on a terminal, errors on one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from diffcheck.visible import visible

# In a pipe there is no width to fit: wide enough that no table is folded.
_PIPE_WIDTH = 240
# Below this width a table leaves out what is least needed; files (--json) always have everything.
WIDE = 120


class _PlainConsole(Console):
    """A console that shows texts of files as they are: neither markup nor control characters in them do anything."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print texts with their control characters made visible, and other things as they are."""
        super().print(*(visible(one) if isinstance(one, str) else one for one in objects), **options)


def console() -> Console:
    """Return the console for results."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return _PlainConsole(width=width, highlight=False, markup=False, emoji=False)


def print_error(message: str) -> None:
    """Print one line on standard error."""
    print(f"diffcheck: {visible(' '.join(message.split()))}", file=sys.stderr)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], numeric: Sequence[str] = ()) -> Table:
    """Return a table of texts; the columns in `numeric` are set right."""
    made = Table(title=visible(title), box=box.SIMPLE, title_justify="left", pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        # A number that is cut is wrong; a name may be folded.
        right = column in numeric
        made.add_column(column, justify="right" if right else "left", overflow="fold", no_wrap=right or not column)
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(visible(str(cell))) for cell in row))
    return made


def status_text(holds: bool, yes: str = "holds", no: str = "FAILS") -> Text:
    """Return a conclusion in its colour."""
    return Text(yes, style="green") if holds else Text(no, style="bold red")


@contextmanager
def progress(total: int, title: str, *, remaining: bool = False) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on standard error while the block runs; nothing at all when that is no terminal.

    Yields a function that counts one step as done and shows its text. `remaining` adds the time left.
    """
    columns: list[ProgressColumn] = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    columns += [TimeElapsedColumn()]
    columns += [TextColumn("left"), TimeRemainingColumn()] if remaining else []
    columns += [TextColumn("{task.fields[step]}")]
    shown = Console(stderr=True)
    with Progress(*columns, console=shown, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(title, total=total, step="")

        def advance(step: str) -> None:
            bar.update(task, advance=1, step=step)

        yield advance
