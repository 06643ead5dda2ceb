"""The roofline: operations a second over operations a byte, under the peaks of memory and f32 and the read floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.review.numbers import plain
from diffcheck.review.plots.draw import BASELINE, CANDIDATE, FLOOR, INK, LIMIT, MUTED, legend_below, svg
from diffcheck.review.roofline import fp32_peak, work_of
from diffcheck.review.rows import RowView, views

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def roofline_plot(receipt: AbReceipt, label: str) -> str | None:
    """Return the picture, with a point for each arm and row; None where nothing was timed."""
    rows = [row for row in views(receipt) if row.timing]
    if not rows:
        return None

    def fill(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        _roofs(axes, receipt, rows)
        _points(axes, receipt, rows)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel("operations of the two products a byte of K and V")
        axes.set_ylabel("GFLOP/s")
        legend_below(figure, axes)

    return svg(7.6, 4.4, label, fill)


def _roofs(axes: Axes, receipt: AbReceipt, rows: list[RowView]) -> None:
    memory, compute = receipt.host.peak_memory_bytes_per_second, fp32_peak(receipt)
    intensities = [work_of(row.row).intensity for row in rows]
    ridge = compute / memory if memory and compute else max(intensities)
    span = [min(intensities) / 2.0, 2.0 * max(ridge, *intensities)]
    if memory is not None:
        axes.plot(span, [x * memory / 1e9 for x in span], color=MUTED, linestyle=(0, (4, 2)), label="memory's peak")
    reads = [rate for row in rows for rate in [row.rate(row.floor("read"))] if rate is not None]
    if reads:
        best = max(reads)
        axes.plot(span, [x * best / 1e9 for x in span], color=FLOOR, linestyle=":", label="fastest read floor")
    if compute is not None:
        axes.axhline(compute / 1e9, color=LIMIT, linewidth=1.0, label="f32 peak")
        axes.set_ylim(top=2.0 * compute / 1e9)
    axes.set_xlim(*span)


def _points(axes: Axes, receipt: AbReceipt, rows: list[RowView]) -> None:
    arms = receipt.experiment.content.arms
    at: dict[float, list[str]] = {}
    points: dict[str, list[tuple[float, float]]] = {"baseline": [], "candidate": []}
    for row in rows:
        work = work_of(row.row)
        case = row.row.case
        at.setdefault(work.intensity, []).append(f"{case.num_q_heads}/{case.num_kv_heads} {case.storage}")
        if row.timing is not None:
            points["baseline"].append((work.intensity, work.flops_per_second(row.timing.baseline_us) / 1e9))
            points["candidate"].append((work.intensity, work.flops_per_second(row.timing.candidate_us) / 1e9))
    looks = (("baseline", arms.baseline, "o", BASELINE), ("candidate", arms.candidate, "s", CANDIDATE))
    for side, name, marker, colour in looks:
        x, y = zip(*points[side], strict=True)
        hollow = "none" if side == "candidate" else colour
        axes.plot(x, y, marker, color=colour, markerfacecolor=hollow, label=plain(name))
    lowest = min(y for found in points.values() for _, y in found)
    for intensity, names in at.items():
        text = _lines(names)
        axes.annotate(text, (intensity, lowest / 1.3), ha="center", va="top", color=INK, fontsize=7.5)
    axes.set_ylim(bottom=lowest / 4.0)


def _lines(names: list[str]) -> str:
    return "\n".join(plain(name) for name in dict.fromkeys(names))
