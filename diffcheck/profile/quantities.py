"""The names of the numbers that the table shows: counts, shares and times, so that none is less than 0."""

from __future__ import annotations

import re
from dataclasses import dataclass

TIME = "gpu__time_duration.sum"
# Warps that wait for a reason, on average, for each instruction issued; of all reasons together: the warps there are.
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active\.ratio")


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
_NAMES = frozenset({TIME, *(name for one in QUANTITIES for name in one.names)})


def shown(name: str) -> bool:
    """Return whether the table shows a number of this name."""
    return name in _NAMES or STALL.fullmatch(name) is not None
