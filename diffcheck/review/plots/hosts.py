"""Hosts side by side: the worst row of each length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffcheck.experiment.policy import Speed
from diffcheck.review.gather import HostReview
from diffcheck.review.numbers import length, plain
from diffcheck.review.plots.draw import BASELINE, CANDIDATE, INK, LIMIT, PEER_MARKERS, PEERS, legend_below, svg
from diffcheck.review.rows import RowView, views, worst

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = (BASELINE, CANDIDATE, *PEERS)
_MARKERS = ("o", "s", *PEER_MARKERS)


def hosts_plot(reviews: Sequence[HostReview], speed: Speed, label: str) -> str | None:
    """Return the picture; None where fewer than two hosts have times."""
    found = {one.title: _worst_by_length(one) for one in reviews}
    found = {name: rows for name, rows in found.items() if rows}
    if len(found) < 2:
        return None
    lengths = sorted({kv_len for rows in found.values() for kv_len in rows})

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        step = min(0.16, 0.8 / len(found))
        for place, (name, rows) in enumerate(found.items()):
            offset = (place - (len(found) - 1) / 2) * step
            at = [lengths.index(kv_len) + offset for kv_len in rows]
            ratios = [row.ratio for row in rows.values() if row.ratio]
            spans = [
                [ratio.estimate - ratio.low for ratio in ratios],
                [ratio.high - ratio.estimate for ratio in ratios],
            ]
            look = place % len(_COLOURS)
            axes.errorbar(
                at,
                [ratio.estimate for ratio in ratios],
                yerr=spans,
                fmt=_MARKERS[look],
                color=_COLOURS[look],
                capsize=2.5,
                label=plain(name),
            )
        axes.axhline(1.0, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)))
        axes.axhline(speed.limit, color=LIMIT, linewidth=1.6, label=f"limit {speed.limit:g}")
        axes.set_xticks(range(len(lengths)), [length(kv_len) for kv_len in lengths])
        axes.set_xlabel("keys")
        axes.set_ylabel("worst candidate / baseline")
        legend_below(figure, axes)

    return svg(9.2, 3.2, label, fill)


def _worst_by_length(one: HostReview) -> dict[int, RowView]:
    found: dict[int, RowView] = {}
    rows = views(one.receipt)
    for kv_len in sorted({row.kv_len for row in rows}):
        row = worst([row for row in rows if row.kv_len == kv_len])
        if row is not None:
            found[kv_len] = row
    return found
