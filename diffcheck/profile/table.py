"""A handful of the numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diffcheck.profile.model import Metric, Profile, Profiled
from diffcheck.profile.quantities import QUANTITIES, STALL, TIME, Quantity
from diffcheck.review.numbers import NONE
from diffcheck.review.tables.base import Table, table

TOP_STALLS = 5
_MICROSECONDS = {
    "ns": 1e-3,
    "nsecond": 1e-3,
    "us": 1.0,
    "usecond": 1.0,
    "ms": 1e3,
    "msecond": 1e3,
    "s": 1e6,
    "second": 1e6,
}
_ISSUED = "selected"
_COLUMNS = ("case", "kernel", "arm", "µs", *(one.column for one in QUANTITIES), f"stalls, the first {TOP_STALLS}")


def profile_table(profile: Profile) -> Table:
    """Return a row for each launch. A number that the tool did not give is a dash."""
    return table(_COLUMNS, [_row(one) for one in profile.launches], _COLUMNS[3:-1])


def stalls(metrics: Mapping[str, Metric]) -> list[tuple[str, float]]:
    """Return the reasons for which warps wait, each with its part of all warps' time (0 to 1), the largest first.

    The part in which a warp issues is in the whole, and no reason.
    """
    waits = {found[1]: one.value for name, one in metrics.items() if (found := STALL.fullmatch(name))}
    whole = sum(waits.values())
    parts = [(reason, wait / whole) for reason, wait in waits.items() if wait > 0 and reason != _ISSUED]
    return sorted(parts, key=lambda part: -part[1])


def _row(one: Profiled) -> Sequence[str]:
    case = f"{one.launch.num_q_heads}/{one.launch.num_kv_heads} {one.launch.storage} at {one.launch.kv_len:,}"
    waits = ", ".join(f"{reason} {100 * part:.0f} %" for reason, part in stalls(one.metrics)[:TOP_STALLS])
    time = one.metrics.get(TIME)
    us = None if time is None or time.unit not in _MICROSECONDS else time.value * _MICROSECONDS[time.unit]
    shown = [_shown(_value(one.metrics, quantity), quantity.digits) for quantity in QUANTITIES]
    return (case, one.part, one.launch.arm, _shown(us, 2), *shown, waits or NONE)


def _value(metrics: Mapping[str, Metric], quantity: Quantity) -> float | None:
    return next((metrics[name].value for name in quantity.names if name in metrics), None)


def _shown(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:,.{digits}f}"
