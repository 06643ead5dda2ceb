"""A report as tables: one line a goal, and one a row."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.goals.report import Line, Report, SideFound
from diffcheck.review.numbers import NONE, length, microseconds, percent, ratio_text, small
from diffcheck.review.tables.base import Cell, Table, Tone, table


def by_goal(report: Report) -> Table:
    """Return how many rows meet each goal, and the first that does not."""
    rows: list[Sequence[Cell | str]] = []
    for title in report.titles:
        lines = report.of_goal(title)
        missed = [line for line in lines if not line.holds]
        rules = "; ".join(dict.fromkeys(line.rule for line in lines))
        first = f"{missed[0].row}{f', {missed[0].against}' if missed[0].against else ''}" if missed else NONE
        counts = f"{len(lines) - len(missed)} of {len(lines)}"
        rows.append((title, rules, Cell(counts, "bad" if missed else "good"), first))
    return table(("goal", "allowed", "met", "first that is not"), rows, ("met",))


def by_row(report: Report, *, narrow: bool = False) -> Table:
    """Return every line: what is allowed, what each arm reached, and whether that is enough.

    A narrow one leaves out what the goal is held against, and the shares.
    """
    arms = tuple(dict.fromkeys(side.arm for line in report.lines for side in line.sides))
    against, shares = ("against", "which has"), tuple(f"{arm}: share" for arm in arms)
    columns = ("goal", "row", *against, "allowed", *arms, *shares, "")
    rows = [dict(zip(columns, _row(line, arms), strict=True)) for line in report.lines]
    shown = tuple(column for column in columns if not (narrow and column in (*against, *shares)))
    return table(shown, [[row[column] for column in shown] for row in rows], (*columns[3:-1],))


def by_family(report: Report) -> Table:
    """Return a line a goal, family and peer, with a column a length: what each arm reached, and what is allowed."""
    lengths = sorted({line.kv_len for line in report.lines})
    found: dict[tuple[str, str, str], dict[int, list[Line]]] = {}
    for line in report.lines:
        against = line.against if line.kind == "peer" else None
        members = found.setdefault((line.goal, line.family, against or NONE), {})
        members.setdefault(line.kv_len, []).append(line)
    rows = [(*key, *(_together(members.get(kv_len, [])) for kv_len in lengths)) for key, members in found.items()]
    columns = ("goal", "rows", "peer", *map(length, lengths))
    return table(columns, rows, columns[3:])


def _together(lines: Sequence[Line]) -> Cell | str:
    """Return what the receipts have of one row; more than one where several have it."""
    if not lines:
        return NONE
    tone: Tone = "" if all(line.holds for line in lines) else "warn"
    return Cell("; ".join(map(_brief, lines)), "bad" if any(line.status != "met" for line in lines) else tone)


def _brief(line: Line) -> str:
    if not line.sides:
        return "not measured"
    if line.kind == "error":
        return " / ".join(f"×{side.share:,.0f}" if side.share else small(side.measured) for side in line.sides)
    if line.kind == "ratio":
        return " / ".join(_interval(side.low, side.high) for side in line.sides)
    values = " / ".join(_value(line, side.measured) for side in line.sides)
    return values if line.kind == "peer" or line.allowed is None else f"{values} ≤ {_value(line, line.allowed)}"


def _interval(low: float | None, high: float | None) -> str:
    return f"{low:.4f}–{high:.4f}" if low is not None and high is not None else NONE


def _row(line: Line, arms: Sequence[str]) -> Sequence[Cell | str]:
    found = {side.arm: side for side in line.sides}
    sides = [found.get(arm) for arm in arms]
    return (
        *(line.goal, line.row, line.against or NONE),
        _reference(line),
        line.rule if line.allowed is None or line.kind == "peer" else _value(line, line.allowed),
        *(_measured(line, side) for side in sides),
        *(_share(line, side) for side in sides),
        _verdict(line),
    )


def _value(line: Line, value: float) -> str:
    if line.unit == "relative error":
        return small(value)
    return microseconds(value) if line.unit == "µs" else ratio_text(value)


def _reference(line: Line) -> str:
    if line.reference is None:
        return NONE
    return small(line.reference) if line.kind == "error" else f"{microseconds(line.reference)} µs"


def _measured(line: Line, side: SideFound | None) -> Cell | str:
    if side is None:
        return NONE
    text = _value(line, side.measured)
    if side.low is not None and side.high is not None:
        text += f" [{side.low:.4f}, {side.high:.4f}]"
    return Cell(text, "" if side.met else "bad")


def _share(line: Line, side: SideFound | None) -> str:
    if side is None or side.share is None:
        return NONE
    return f"×{side.share:,.0f}" if line.kind == "error" else percent(side.share)


def _verdict(line: Line) -> Cell:
    if line.status == "not measured":
        return Cell(f"not measured: {line.reason}", "bad")
    text = line.status if line.counted else f"{line.status}, does not count"
    return Cell(text, "good" if line.holds else "warn" if line.status == "met" else "bad")
