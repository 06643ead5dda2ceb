"""A handful of the numbers as a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diffcheck.profile.model import Metric, Profile, Profiled
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
# Warps that wait for a reason, on average, for each instruction issued; of all reasons together: the warps there are.
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio")
_ISSUED = "selected"


@dataclass(frozen=True)
class Quantity:
    """A column: the names that it has in one version or architecture or another, the first that is there counts."""

    column: str
    names: tuple[str, ...]
    digits: int = 1


QUANTITIES = (
    Quantity(
        "DRAM %",
        (
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ),
    ),
    Quantity("L2 %", ("lts__throughput.avg.pct_of_peak_sustained_elapsed",)),
    Quantity("L1 %", ("l1tex__throughput.avg.pct_of_peak_sustained_active",)),
    Quantity(
        "issue %",
        (
            "smsp__issue_active.avg.pct_of_peak_sustained_active",
            "sm__inst_issued.avg.pct_of_peak_sustained_active",
        ),
    ),
    Quantity("warps %", ("sm__warps_active.avg.pct_of_peak_sustained_active",)),
    Quantity("room for %", ("sm__maximum_warps_per_active_cycle_pct",)),
    Quantity("instructions", ("smsp__inst_executed.sum", "sm__inst_executed.sum"), 0),
    Quantity("registers", ("launch__registers_per_thread",), 0),
)
_COLUMNS = ("case", "kernel", "arm", "µs", *(one.column for one in QUANTITIES), f"stalls, the first {TOP_STALLS}")


def profile_table(profile: Profile) -> Table:
    """Return a row for each launch. A number that the tool did not give is a dash."""
    return table(_COLUMNS, [_row(one) for one in profile.launches], _COLUMNS[3:-1])


def stalls(metrics: Mapping[str, Metric]) -> list[tuple[str, float]]:
    """Return the reasons for which warps wait, each with its part of all warps' time (0 to 1), the largest first.

    The part in which a warp issues is in the whole, and no reason.
    """
    waits = {found[1]: one.value for name, one in metrics.items() if (found := _STALL.fullmatch(name))}
    whole = sum(waits.values())
    parts = [(reason, wait / whole) for reason, wait in waits.items() if wait > 0 and reason != _ISSUED]
    return sorted(parts, key=lambda part: -part[1])


def _row(one: Profiled) -> Sequence[str]:
    case = f"{one.launch.num_q_heads}/{one.launch.num_kv_heads} {one.launch.storage} at {one.launch.kv_len:,}"
    waits = ", ".join(f"{reason} {100 * part:.0f} %" for reason, part in stalls(one.metrics)[:TOP_STALLS])
    time = one.metrics.get("gpu__time_duration.sum")
    us = None if time is None or time.unit not in _MICROSECONDS else time.value * _MICROSECONDS[time.unit]
    shown = [_shown(_value(one.metrics, quantity), quantity.digits) for quantity in QUANTITIES]
    return (case, one.part, one.launch.arm, _shown(us, 2), *shown, waits or NONE)


def _value(metrics: Mapping[str, Metric], quantity: Quantity) -> float | None:
    return next((metrics[name].value for name in quantity.names if name in metrics), None)


def _shown(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:,.{digits}f}"
