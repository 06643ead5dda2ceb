"""An arm against a peer: the ratio of their times with its interval, from what a receipt has of both.

A peer that was replayed between the arms gives blocks as the arms do among themselves, and its interval is made of them
as theirs is (`diffcheck.ab.stats`).

One that was timed by itself gives nothing to pair. The unit of an arm is then the block, and that of the peer the
replay. Each side's logarithms are resampled by themselves, and the interval is that of the difference of the two
trimmed means: the bootstrap of two samples (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 8),
at the level that `diffcheck.ab.stats` expands for few samples, taken for the smaller of the two. A side of one number
is taken as exact, and adds nothing to the width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffcheck.ab.stats import CONFIDENCE, interval_from, interval_of, resampled_means, trimmed_mean
from diffcheck.receipts.ab.rows import Beside, PeerRow
from diffcheck.receipts.ab.samples import Block, Comparison, Interval, Side


def can_compare(timing: Comparison, peer: PeerRow) -> bool:
    """Whether there is an interval against a peer with samples: of one block and one sample there is none."""
    return len(timing.used()) > 1 or len(peer.samples_us) > 1


def peer_interval(timing: Comparison, side: Side, peer: PeerRow) -> Interval:
    """Return one arm's time over a peer's, where `can_compare` says that there is such an interval; see the module."""
    seed = timing.ratio.seed
    if len(peer.beside) > 1:
        return interval_of([_beside_log(block, side) for block in peer.beside], seed)
    return interval_between(block_logs(timing.blocks, side), [math.log(us) for us in peer.samples_us], seed)


def _beside_log(block: Beside, side: Side) -> float:
    """Return the logarithm of a block's ratio, arm over peer."""
    arm = block.baseline_us if side == "baseline" else block.candidate_us
    return (math.fsum(map(math.log, arm)) - math.fsum(map(math.log, block.peer_us))) / 2.0


def block_logs(blocks: Sequence[Block], side: Side) -> list[float]:
    """Return the mean logarithm of one side's times (µs a call), for each block that was not dropped."""
    used = [block.times(side) for block in blocks if block.dropped is None]
    return [math.fsum(map(math.log, times)) / len(times) for times in used]


def interval_between(first: Sequence[float], second: Sequence[float], seed: int) -> Interval:
    """Return the ratio, first over second, of two sides given by the logarithms of their times; see the module.

    Raises `ValueError` where a side has nothing, or both have one number only.
    """
    sides = [np.asarray(values, dtype=np.float64) for values in (first, second)]
    counts = [side.size for side in sides if side.size > 1]
    if not counts or not all(side.size for side in sides):
        raise ValueError(f"{len(first)} and {len(second)} values; at least 2 and 1 are needed")
    rng = np.random.default_rng(seed)
    means = resampled_means(sides[0], rng) - resampled_means(sides[1], rng)
    estimate = float(trimmed_mean(sides[0][None, :])[0] - trimmed_mean(sides[1][None, :])[0])
    return interval_from(means, estimate, min(counts), seed, CONFIDENCE)
