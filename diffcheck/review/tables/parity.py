"""Whether the outputs were right: each check over all rows, and the worst row of each."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.receipts.metrics import Check
from diffcheck.review.numbers import NONE, small
from diffcheck.review.rows import RowView
from diffcheck.review.tables.base import Cell, Table, table, yes

_SAYS = {
    "bits": "same bits",
    "scratch": "what the splits left, to the bit",
    "oracle": "within its bound of f64",
    "naive": "within its bound of f64",
    "split-naive": "within both bounds",
    "memory": "guards and inputs kept, all written",
    "executes": "runs to its end",
}


Grouped = dict[tuple[str, str, str], list[tuple[RowView, Check]]]


def summary(rows: Sequence[RowView]) -> Table:
    """Return one row for each kind of check and pair: how many rows hold, and the extremes over all of them."""
    columns = ("check", "of", "against", "rows", "words", "of its bound", "largest error", "least cosine")
    return table(columns, [_summary_row(key, found) for key, found in _grouped(rows).items()], columns[3:])


def worst_rows(rows: Sequence[RowView]) -> Table | None:
    """Return the worst row of each check that fails or has a bound, and its worst word; None where there is none."""
    columns = ("check", "of", "against", "worst row", "of its bound", "head", "index", "has", "against it")
    made = [row for key, found in _grouped(rows).items() if (row := _worst_row(key, found)) is not None]
    return table(columns, made, ("of its bound", "head", "index")) if made else None


def _grouped(rows: Sequence[RowView]) -> Grouped:
    grouped: Grouped = {}
    for row in rows:
        for check in row.row.parity:
            grouped.setdefault((check.name, check.a, check.b), []).append((row, check))
    return grouped


def rows_table(rows: Sequence[RowView]) -> Table:
    """Return one row for each check of each row."""
    columns = ("row", "check", "of", "against", "result", "words", "equal", "ULP", "of its bound", "error", "says")
    made = [_check_row(row, check) for row in rows for check in row.row.parity]
    return table(columns, made, ("words", "equal", "ULP", "of its bound", "error"))


def _summary_row(key: tuple[str, str, str], found: Sequence[tuple[RowView, Check]]) -> Sequence[Cell | str]:
    name, a, b = key
    held = sum(check.holds for _, check in found)
    whole = [one.whole for _, one in found if one.whole]
    errors = [metrics.max_abs for metrics in whole if metrics.max_abs is not None]
    cosines = [metrics.cosine for metrics in whole if metrics.cosine is not None]
    shares = [one.ratio for _, one in found if one.ratio is not None]
    count = f"{held}/{len(found)}"
    return (
        *(f"{name}: {_SAYS[name]}", a, b, yes(held == len(found), count, count)),
        f"{sum(one.compared for _, one in found):,}",
        f"{max(shares):.3f}" if shares else NONE,
        small(max(errors)) if errors else NONE,
        f"{min(cosines):.9f}" if cosines else NONE,
    )


def _worst_row(key: tuple[str, str, str], found: Sequence[tuple[RowView, Check]]) -> Sequence[Cell | str] | None:
    row, check = max(found, key=lambda one: _badness(one[1]))
    if check.holds and check.ratio is None:
        return None
    share = f"{check.ratio:.3f}" if check.ratio is not None else NONE
    return (*key, Cell(row.row.case.name, "" if check.holds else "bad"), share, *_word(check))


def _check_row(row: RowView, check: Check) -> Sequence[Cell | str]:
    whole = check.whole
    return (
        *(row.row.case.name, check.name, check.a, check.b, yes(check.holds), f"{check.compared:,}"),
        f"{whole.equal:,}" if whole else NONE,
        NONE if whole is None or whole.max_ulp is None else f"{whole.max_ulp:,}",
        f"{check.ratio:.3f}" if check.ratio is not None else NONE,
        small(whole.max_abs) if whole else NONE,
        Cell(check.reason, "dim" if check.holds else "bad"),
    )


def _badness(check: Check) -> tuple[bool, float]:
    ratio = check.ratio if check.ratio is not None else 0.0
    return (not check.holds, float("inf") if ratio != ratio else ratio)  # noqa: PLR0124 - NaN is the worst


def _word(check: Check) -> Sequence[Cell | str]:
    word = check.worst_row.worst if check.worst_row else None
    if word is None:
        return (NONE,) * 4
    other = f"{word.b_bits} = {word.b}" if word.b_bits else word.b
    return (str(word.head), str(word.index), Cell(f"{word.a_bits} = {word.a}", code=True), Cell(other, code=True))
