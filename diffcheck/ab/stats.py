"""From blocks of replays to the ratio of the two sides and an interval for it.

The unit is the block, not the replay: replays of one block share their disturbances. A block's value is the mean
logarithm of its candidate times minus that of its baseline times, so that exp of it is a ratio and the ratio of the
sides exchanged is its inverse. The estimate is the mean of the middle half of the blocks (a trimmed mean): a clock step
or an interrupt spoils single blocks, and up to a quarter on either side may be spoilt.

The interval is the percentile bootstrap of that mean, resampled over blocks (Efron, "Bootstrap Methods: Another Look at
the Jackknife", 1979), at a level expanded as Hesterberg gives it for few samples ("What Teachers Should Know About the
Bootstrap", 2015, section 4.3): the plain percentile interval of 20 blocks covers less than it says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from diffcheck.receipts.ab.samples import Block, Interval

FloatArray = npt.NDArray[np.float64]

TRIM = 0.25
"""Part of the blocks that is left out at either end."""
RESAMPLES = 2000
CONFIDENCE = 0.95
CONTROL_CONFIDENCE = 0.99
"""Of an A/A: one of twenty would miss 1 by chance at 95 %."""


def block_value(block: Block) -> float:
    """Return the logarithm of a block's ratio, candidate over baseline."""
    candidate, baseline = block.times("candidate"), block.times("baseline")
    return math.fsum(map(math.log, candidate)) / len(candidate) - math.fsum(map(math.log, baseline)) / len(baseline)


def ratio_interval(blocks: Sequence[Block], seed: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the ratio of the blocks that were not dropped, with its interval; at least two of them are needed."""
    return interval_of([block_value(block) for block in blocks if block.dropped is None], seed, confidence)


def interval_of(values: Sequence[float], seed: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the interval for blocks of these values; see the module. Raises `ValueError` for fewer than two."""
    if len(values) < 2:
        raise ValueError(f"values: {len(values)} blocks; at least 2 are needed")
    logs = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(seed)
    estimate = float(trimmed_mean(logs[None, :])[0])
    return interval_from(resampled_means(logs, rng), estimate, logs.size, seed, confidence)


def resampled_means(logs: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the trimmed means of `RESAMPLES` samples that are drawn from `logs` with replacement."""
    return trimmed_mean(rng.choice(logs, size=(RESAMPLES, logs.size)))


def interval_from(means: FloatArray, estimate: float, count: int, seed: int, confidence: float) -> Interval:
    """Return the interval of a logarithm by bootstrapped `means`, with tails for `count` samples; see the module."""
    tail = expanded_tail(count, confidence)
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(
        estimate=math.exp(estimate),
        # Of few blocks the bootstrap can lie beside the estimate; an interval holds what it is an interval for.
        low=math.exp(min(float(low), estimate)),
        high=math.exp(max(float(high), estimate)),
        confidence=confidence,
        resamples=RESAMPLES,
        seed=seed,
    )


def trimmed_mean(rows: FloatArray) -> FloatArray:
    """Return the mean of the middle half of each row `[n, blocks]`."""
    blocks = rows.shape[1]
    cut = int(TRIM * blocks)
    ordered = np.partition(rows, (cut, blocks - cut - 1), axis=1) if cut else rows
    kept = ordered[:, cut : blocks - cut]
    mean: FloatArray = kept.mean(axis=1)
    return mean


def expanded_tail(count: int, confidence: float) -> float:
    """Return the part to cut off at either end of the bootstrap's distribution of `count` blocks."""
    from scipy import stats

    quantile = float(stats.t.ppf(0.5 + confidence / 2.0, count - 1)) * math.sqrt(count / (count - 1))
    return NormalDist().cdf(-quantile)
