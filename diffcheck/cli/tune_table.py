"""What `diffcheck tune` prints."""

from __future__ import annotations

from diffcheck import terminal
from diffcheck.tune.model import TunedRow, TuneResult

_COLUMNS = ("call", "variant", "µs", "of incumbent", "interval", "read floor µs", "bits")


def show_tune(result: TuneResult) -> None:
    """Print the variants of each call, the fastest first, and below them what was left out or is wrong."""
    out = terminal.console()
    lines = [line for row in result.rows for line in _lines(row)]
    title = f"{result.host.device}, PTX for {result.target}, against the table {result.table}"
    out.print(terminal.table(title, _COLUMNS, lines, _COLUMNS[2:6]))
    for row in result.rows:
        for refused in row.refused:
            out.print(f"{row.case.name}: {refused.name} is left out: {refused.reason}", markup=False)
        for one in row.variants:
            for check in one.checks:
                if not check.holds:
                    out.print(f"{row.case.name}: {one.name}: {check.reason}", style="red", markup=False)
    out.print(f"{len(lines)} variants: ", terminal.status_text(result.status == "holds"), sep="")


def _lines(row: TunedRow) -> list[tuple[object, ...]]:
    floor = f"{row.floors[0].median_us:.2f}" if row.floors else "-"
    lines: list[tuple[object, ...]] = []
    for one in sorted(row.variants, key=lambda one: (one.arm, one.median_us or float("inf"))):
        median = "-" if one.median_us is None else f"{one.median_us:.2f}"
        ratio, interval = ("1" if one.incumbent else "-"), "-"
        if one.ratio is not None:
            ratio, interval = f"{one.ratio.estimate:.4f}", f"{one.ratio.low:.4f} to {one.ratio.high:.4f}"
        lines.append((row.case.name, one.name, median, ratio, interval, floor, terminal.status_text(one.holds)))
    return lines
