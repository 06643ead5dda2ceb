"""Times and bandwidths over the context's length, a panel for each family of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from diffcheck.review.numbers import plain
from diffcheck.review.plots.draw import (
    BASELINE,
    CANDIDATE,
    FLOOR,
    MUTED,
    PEER_MARKERS,
    PEERS,
    legend_below,
    panels,
    svg,
)
from diffcheck.review.rows import RowView, families
from diffcheck.review.tables.times import peer_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Number = Callable[[RowView], "float | None"]


def latency_plot(rows: Sequence[RowView], arms: tuple[str, str], label: str) -> str | None:
    """Return both arms' times beside the floors and the peers; None where nothing was timed."""

    def draw(axes: Axes, members: Sequence[RowView]) -> None:
        _line(axes, members, lambda row: row.floor("empty"), "launch floor", _Look(FLOOR, ":"))
        _line(axes, members, lambda row: row.floor("read"), "read floor", _Look(FLOOR, "--"))
        for place, name in enumerate(peer_names(rows)[: len(PEERS)]):
            _line(axes, members, _peer_us(name), name, _peer_look(place))
        _arms(axes, members, arms, lambda _, us: us)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_ylabel("µs a call")

    return _panels(rows, label, draw)


def bandwidth_plot(rows: Sequence[RowView], arms: tuple[str, str], peak: float | None, label: str) -> str | None:
    """Return the rate at which both arms read K and V, beside the read floor's and the memory's peak."""

    def draw(axes: Axes, members: Sequence[RowView]) -> None:
        if peak is not None:
            axes.axhline(peak / 1e9, color=MUTED, linewidth=1.0, linestyle=(0, (4, 2)), label="memory's peak")
        _line(axes, members, lambda row: _gb(row.rate(row.floor("read"))), "read floor", _Look(FLOOR, "--"))
        for place, name in enumerate(peer_names(rows)[: len(PEERS)]):
            _line(axes, members, _rate_of(_peer_us(name)), name, _peer_look(place))
        _arms(axes, members, arms, lambda row, us: _gb(row.rate(us)))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("GB/s of K and V")

    return _panels(rows, label, draw)


def _panels(rows: Sequence[RowView], label: str, draw: Callable[[Axes, Sequence[RowView]], None]) -> str | None:
    timed = {family: [row for row in members if row.timing] for family, members in families(rows).items()}
    # One length is no line, unless there is nothing else.
    found = {family: members for family, members in timed.items() if len(members) > 1}
    found = found or {family: members for family, members in timed.items() if members}
    if not found:
        return None
    columns = min(len(found), 2 if len(found) in {2, 4} else 3)

    def fill(figure: Figure) -> None:
        made = panels(figure, len(found), columns)
        for axes, (family, members) in zip(made, found.items(), strict=True):
            draw(axes, members)
            lengths = [row.kv_len for row in members]
            axes.set_xscale("log")
            axes.set_xticks(lengths, [_short(value) for value in lengths])
            axes.minorticks_off()
            axes.margins(x=0.08)
            axes.set_title(family)
            axes.set_xlabel("keys")
        legend_below(figure, made[0])

    return svg(9.2, 0.5 + 2.5 * -(-len(found) // columns), label, fill)


def _arms(
    axes: Axes, members: Sequence[RowView], names: tuple[str, str], of: Callable[[RowView, float], float | None]
) -> None:
    def baseline(row: RowView) -> float | None:
        return of(row, row.timing.baseline_us) if row.timing else None

    def candidate(row: RowView) -> float | None:
        return of(row, row.timing.candidate_us) if row.timing else None

    # The candidate is drawn hollow over the baseline: where both are the same, both are seen.
    _line(axes, members, baseline, names[0], _Look(BASELINE, marker="o"))
    _line(axes, members, candidate, names[1], _Look(CANDIDATE, "--", "s", hollow=True))


@dataclass(frozen=True)
class _Look:
    """How a line is drawn: told apart by more than its colour."""

    colour: str
    style: str = "-"
    marker: str = ""
    hollow: bool = False
    width: float = 1.4


def _line(axes: Axes, members: Sequence[RowView], number: Number, label: str, look: _Look) -> None:
    points = [(row.kv_len, value) for row in members for value in [number(row)] if value is not None]
    if not points:
        return
    lengths, values = zip(*points, strict=True)
    axes.plot(
        lengths,
        values,
        look.style,
        color=look.colour,
        label=plain(label),
        # A floor has no marker, unless it is one point, of which a line alone would show nothing.
        marker=look.marker or ("_" if len(points) == 1 else ""),
        markerfacecolor="none" if look.hollow else look.colour,
        markersize=6.5 if look.hollow else 4.0,
        linewidth=look.width,
    )


def _peer_look(place: int) -> _Look:
    return _Look(PEERS[place], marker=PEER_MARKERS[place], width=0.9)


def _peer_us(name: str) -> Number:
    def us(row: RowView) -> float | None:
        peer = row.peer(name)
        return peer.median_us if peer else None

    return us


def _rate_of(us: Number) -> Number:
    return lambda row: _gb(row.rate(us(row)))


def _gb(rate: float | None) -> float | None:
    return None if rate is None else rate / 1e9


def _short(keys: int) -> str:
    return str(keys) if keys < 1000 else f"{keys / 1000:.0f}k"
