"""Candidate over baseline with its interval, one line a row: at the policy's limit, and close up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffcheck.decide.reasons import Code
from diffcheck.decide.speed import judge_interval
from diffcheck.experiment.policy import Speed
from diffcheck.receipts.ab.samples import Interval
from diffcheck.review.numbers import length
from diffcheck.review.plots.draw import BAD, GOOD, GRID, INK, LIMIT, WARN, svg
from diffcheck.review.rows import RowView, families

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = {Code.SPEED_HOLDS: GOOD, Code.SPEED_UNSURE: WARN, Code.TOO_SLOW: BAD}
_MARKERS = {Code.SPEED_HOLDS: "o", Code.SPEED_UNSURE: "D", Code.TOO_SLOW: "s"}


def ratio_plot(rows: Sequence[RowView], speed: Speed, label: str) -> str | None:
    """Return the picture; None where nothing was timed."""
    lines: list[tuple[str, Interval]] = []
    starts: list[int] = []
    for family, members in families(rows).items():
        timed = [(f"{family}  {length(row.kv_len)}", row.ratio) for row in members if row.ratio]
        if timed:
            starts.append(len(lines))
            lines += timed
    if not lines:
        return None

    def fill(figure: Figure) -> None:
        wide, close = figure.subplots(1, 2, sharey=True, width_ratios=(2, 3))
        for axes in (wide, close):
            _intervals(axes, lines, speed)
            for start in starts[1:]:
                axes.axhline(start - 0.5, color=GRID, linewidth=0.7)
            axes.axvline(1.0, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)))
        wide.set_yticks(range(len(lines)), [name for name, _ in lines])
        wide.set_ylim(len(lines) - 0.4, -0.6)
        _against_limit(wide, lines, speed)
        _close_up(close, lines, speed)

    return svg(9.2, 1.2 + 0.185 * len(lines), label, fill)


def _intervals(axes: Axes, lines: Sequence[tuple[str, Interval]], speed: Speed) -> None:
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    for place, (_, ratio) in enumerate(lines):
        code = judge_interval(ratio, speed)
        axes.plot([ratio.low, ratio.high], [place, place], color=_COLOURS[code], linewidth=2.4, solid_capstyle="butt")
        axes.plot(ratio.estimate, place, _MARKERS[code], color=_COLOURS[code])


def _against_limit(axes: Axes, lines: Sequence[tuple[str, Interval]], speed: Speed) -> None:
    low = min(1.0, speed.limit, *(ratio.low for _, ratio in lines))
    high = max(1.0, speed.limit, *(ratio.high for _, ratio in lines))
    room = 0.08 * max(high - low, 0.02)
    axes.set_xlim(low - room, high + room)
    axes.axvline(speed.limit, color=LIMIT, linewidth=1.6)
    axes.axvspan(speed.limit, high + room, color=LIMIT, alpha=0.12, linewidth=0)
    axes.set_title(f"against the limit, {speed.limit:g}")
    axes.set_xlabel("candidate / baseline")


def _close_up(axes: Axes, lines: Sequence[tuple[str, Interval]], speed: Speed) -> None:
    low = min(ratio.low for _, ratio in lines)
    high = max(ratio.high for _, ratio in lines)
    room = 0.08 * max(high - low, 0.002)
    axes.set_xlim(low - room, high + room)
    if low - room < speed.limit < high + room:
        axes.axvline(speed.limit, color=LIMIT, linewidth=1.6)
    axes.set_title("close up")
    axes.set_xlabel("candidate / baseline; a line is the whole interval")
