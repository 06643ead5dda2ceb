"""A variant's time over its incumbent's, from samples alone: what reads a result needs no device for it.

A round's value for a variant is the mean logarithm of its two times minus that of the incumbent's, and the interval of
its ratio is the A/B's, over rounds.
"""

from __future__ import annotations

import math
import statistics

from diffcheck.ab.stats import CONFIDENCE, interval_of
from diffcheck.receipts.ab.samples import Interval
from diffcheck.tune.model import TunedRow, TunedVariant


def ratio_of(row: TunedRow, variant: TunedVariant, seed: int) -> Interval:
    """Return a variant's time over its incumbent's, with an interval that holds for all of an arm's variants at once.

    The best of many is chosen: at 95 % each, one of twenty that are equal would win by chance (Bonferroni).
    """
    others = sum(one.arm == variant.arm and bool(one.samples_us) and not one.incumbent for one in row.variants)
    ours, theirs = row.used(variant), row.used(row.incumbent_of(variant.arm))
    values = [
        statistics.fmean(map(math.log, ours[at : at + 2])) - statistics.fmean(map(math.log, theirs[at : at + 2]))
        for at in range(0, len(ours), 2)
    ]
    return interval_of(values, seed, 1.0 - (1.0 - CONFIDENCE) / max(1, others))
