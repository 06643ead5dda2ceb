"""How many calls a graph of a row has: whole passes over the copies of K and V.

A graph's own start takes some microseconds, which its calls share. What is compared should bear it alike: two sides of
about the same time with as many calls each, two that are far apart with graphs that last as long as each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from diffcheck.timing.graph import GRAPH_US, whole_passes

FAR_APART = 4.0
"""A side that takes this many times as long a call as the fastest has a number of calls of its own."""


def common_calls(fastest_us: float, sets: int, parts: int) -> int:
    """Return how many calls of the fastest last about `GRAPH_US`, in whole passes over `sets` copies.

    `parts` divides them where they are that many.
    """
    wanted = max(1, round(GRAPH_US / max(fastest_us, 0.1)))
    unit = math.lcm(parts, sets)
    return whole_passes(wanted, unit if wanted >= unit // 2 else sets)


def own_calls(each_us: float, fastest_us: float, common: int, sets: int) -> int:
    """Return how many calls a side has that takes `each_us` a call, where the fastest has `common` of `fastest_us`.

    As many; of one that is far slower, what lasts as long, in whole passes: a hundred calls of milliseconds would take
    the time of many blocks, and their graph's start would be a smaller part of them than it is on the other side.
    """
    if each_us < FAR_APART * fastest_us:
        return common
    return whole_passes(common * fastest_us / each_us, sets)


def divided_calls(calls: int, sets: int, shares: Iterable[Fraction]) -> int:
    """Return the next number of calls, in whole passes, of which each share is a whole number."""
    return whole_passes(calls, math.lcm(sets, *(share.denominator for share in shares)))
