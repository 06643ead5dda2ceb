"""Whether the intervals of a receipt follow from its samples: a number that was edited with a new digest shows here."""

from __future__ import annotations

import math

from diffcheck.ab.stats import ratio_interval
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.samples import Comparison

# Logarithms and exponentials may differ in the last place from one machine to the next.
ESTIMATE_TOLERANCE = 1e-6
# Of the interval's width. numpy does not promise that a seed gives the same draws in a later version; other draws move
# an end of 2000 resamples by some 2 % of the width, and hardly ever by this much.
END_TOLERANCE = 0.1


def contradictions(receipt: AbReceipt) -> list[tuple[str, str]]:
    """Return the rows and controls whose interval is not that of its samples: the row's name, and what differs."""
    timed = [(row.case.name, row.timing) for row in receipt.rows if row.timing is not None]
    timed += [(control.case, control.timing) for control in receipt.controls]
    found = [(name, contradiction(timing)) for name, timing in timed]
    return [(name, message) for name, message in found if message]


def contradiction(timing: Comparison) -> str:
    """Return in one line how an interval differs from that of its blocks, by its own seed; empty where it does not."""
    stated, used = timing.ratio, timing.used()
    if len(used) < 2:
        return f"an interval of {len(used)} block"
    made = ratio_interval(used, stated.seed, stated.confidence)
    if stated.resamples != made.resamples:
        return f"{stated.resamples} resamples are stated, {made.resamples} are taken"
    allowed = END_TOLERANCE * (made.high - made.low)
    for name, distance in (("estimate", 0.0), ("low", allowed), ("high", allowed)):
        a, b = getattr(stated, name), getattr(made, name)
        if not math.isclose(a, b, rel_tol=ESTIMATE_TOLERANCE, abs_tol=distance):
            return f"{name} is stated as {a:.6f}, and the samples give {b:.6f}"
    return ""
