"""The device over a run: clocks, temperature and power at every reading, and where a block was dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.samples import Reading
from diffcheck.review.plots.draw import BAD, BASELINE, GRID, MUTED, svg
from diffcheck.review.tables.device import timings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = 400
"""A strip has so many points at most: each is the range and the median of its readings."""
_STRIPS: tuple[tuple[str, Callable[[Reading], float | None]], ...] = (
    ("SM clock, MHz", lambda reading: reading.sm_mhz),
    ("memory clock, MHz", lambda reading: reading.memory_mhz),
    ("temperature, °C", lambda reading: reading.temperature_c),
    ("power, W", lambda reading: reading.power_w),
)


def device_plot(receipt: AbReceipt, label: str) -> str | None:
    """Return the picture; None where nothing was timed."""
    readings: list[Reading] = []
    starts: list[int] = []
    dropped: list[tuple[int, int]] = []
    for timing in timings(receipt):
        starts.append(len(readings))
        for block in timing.blocks:
            first = len(readings)
            readings += block.readings
            if block.dropped is not None:
                dropped.append((first, len(readings) - 1))
    if not readings:
        return None

    def fill(figure: Figure) -> None:
        made = figure.subplots(len(_STRIPS), 1, sharex=True)
        for axes, (name, number) in zip(made, _STRIPS, strict=True):
            for start in starts[1:]:
                axes.axvline(start, color=GRID, linewidth=0.6)
            for first, last in dropped:
                axes.axvspan(first, last, color=BAD, alpha=0.35, linewidth=0)
            axes.grid(visible=False, axis="x")
            _strip(axes, [number(reading) for reading in readings])
            axes.set_title(name)
        made[-1].set_xlim(0, max(1, len(readings) - 1))
        made[-1].set_xlabel("reading; a thin line begins the next row or control")

    return svg(9.2, 5.6, label, fill)


def _strip(axes: Axes, values: Sequence[float | None]) -> None:
    known = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    places = np.flatnonzero(~np.isnan(known))
    if not places.size:
        axes.text(0.5, 0.5, "not supported by this device", transform=axes.transAxes, ha="center", color=MUTED)
        axes.set_yticks([])
        return
    parts = np.array_split(places, min(BINS, places.size))
    at = [float(part.mean()) for part in parts]
    low, middle, high = ([float(of(known[part])) for part in parts] for of in (np.min, np.median, np.max))
    axes.fill_between(at, low, high, color=BASELINE, alpha=0.25, linewidth=0)
    axes.plot(at, middle, color=BASELINE, linewidth=1.0)
    room = max(0.08 * (max(high) - min(low)), 0.01 * abs(max(high)), 1.0)
    axes.set_ylim(min(low) - room, max(high) + room)
