"""The order in which two sides take turns.

A block is ABBA or BAAB: over either, a drift that is linear in time touches both sides alike. Which of the two comes
is drawn in pairs of one each, in random order, so that no periodic disturbance can keep step with one side and each
side goes first as often as the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diffcheck.receipts.ab.samples import Side

Order = tuple[Side, Side, Side, Side]

ABBA: Order = ("baseline", "candidate", "candidate", "baseline")
BAAB: Order = ("candidate", "baseline", "baseline", "candidate")


def balanced_orders(rng: np.random.Generator) -> Iterator[Order]:
    """Yield the orders of blocks without end: of every two, one is ABBA and one BAAB."""
    while True:
        pair = (ABBA, BAAB)
        first = int(rng.integers(2))
        yield pair[first]
        yield pair[1 - first]
