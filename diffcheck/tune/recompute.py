"""Whether a result follows from its samples: a number that was edited shows here."""

from __future__ import annotations

import math
from collections.abc import Iterator

from diffcheck.ab.recompute import differing
from diffcheck.ab.sampler import why_dropped
from diffcheck.tune.model import TunedRow, TunedVariant, TuneResult
from diffcheck.tune.ratio import ratio_of

_FLOOR_AT_MOST = 2.0
"""So many times the fastest variant's median: what only reads may lose to a variant by noise and by its grid, and above
this it is no floor of that device."""


def contradictions_of_samples(result: TuneResult) -> Iterator[str]:
    """Yield in one line each what is not as the samples or the device's readings have it."""
    for row in result.rows:
        for place, round_ in enumerate(row.rounds):
            if (round_.dropped is None) != (why_dropped(round_.readings) is None):
                kept = "kept" if round_.dropped is None else "dropped"
                yield f"{row.case.name}: round {place} is {kept}, and its readings say otherwise"
        fastest = min((one.median_us for one in row.variants if one.median_us is not None), default=math.inf)
        for floor in row.floors:
            if floor.median_us > _FLOOR_AT_MOST * fastest:
                yield f"{row.case.name}: a floor of {floor.median_us:g} µs, and a variant takes {fastest:g} µs"
        for one in row.variants:
            wrong = _wrong_ratio(row, one)
            if wrong:
                yield f"{row.case.name}, {one.name}: {wrong}"


def _wrong_ratio(row: TunedRow, one: TunedVariant) -> str:
    return "" if one.ratio is None else differing(one.ratio, ratio_of(row, one, one.ratio.seed))
