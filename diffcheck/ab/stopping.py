"""When a row has been measured long enough."""

from __future__ import annotations

from typing import Literal

from diffcheck.experiment.model import Budget
from diffcheck.receipts.ab.samples import Interval

Stop = Literal["narrow", "budget", "blocks"]

BLOCKS_BETWEEN_LOOKS = 4
"""Blocks that run before the interval is looked at again: each look is a chance to stop on a lucky one."""

OVERRUN = 5.0
"""The seconds of a budget may be spent this many times over for the fewest blocks that a decision asks for."""


def enough(
    used: int, interval: Interval | None, budget: Budget, blocks: int | None = None, seconds: float = 0.0
) -> Stop | None:
    """Return why sampling ends, or None.

    `used` counts the blocks that were not dropped, `blocks` all of them (default: the same), `seconds` the time spent;
    `interval` is None where they are too few for one.
    The time ends nothing that has fewer blocks than a decision asks for, but where it is spent `OVERRUN` times over.
    """
    if used >= budget.min_blocks and interval is not None and interval.width <= budget.interval_width:
        return "narrow"
    if (used if blocks is None else blocks) >= budget.max_blocks:
        return "blocks"
    if seconds >= budget.seconds_per_row * (1.0 if used >= budget.min_blocks else OVERRUN):
        return "budget"
    return None
