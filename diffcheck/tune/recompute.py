"""Whether a result follows from its samples: a number that was edited shows here."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.ab.recompute import differing
from diffcheck.ab.sampler import why_dropped
from diffcheck.tune.model import TunedRow, TunedVariant, TuneResult
from diffcheck.tune.ratio import ratio_of


def contradictions_of_samples(result: TuneResult) -> Iterator[str]:
    """Yield in one line each what is not as the samples or the device's readings have it."""
    for row in result.rows:
        for place, round_ in enumerate(row.rounds):
            if (round_.dropped is None) != (why_dropped(round_.readings) is None):
                kept = "kept" if round_.dropped is None else "dropped"
                yield f"{row.case.name}: round {place} is {kept}, and its readings say otherwise"
        for one in row.variants:
            wrong = _wrong_ratio(row, one)
            if wrong:
                yield f"{row.case.name}, {one.name}: {wrong}"


def _wrong_ratio(row: TunedRow, one: TunedVariant) -> str:
    return "" if one.ratio is None else differing(one.ratio, ratio_of(row, one, one.ratio.seed))
