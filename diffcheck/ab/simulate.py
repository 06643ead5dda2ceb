"""The timing statistics under known truth: how often an interval holds it, and how often a verdict is wrong.

A simulated row runs the very schedule, stopping rule and statistics of a real one; only the clock is a model
(`diffcheck.ab.noise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from diffcheck.ab.noise import MODELS, Noise
from diffcheck.ab.schedule import balanced_orders
from diffcheck.ab.stats import CONFIDENCE, interval_of
from diffcheck.ab.stopping import BLOCKS_BETWEEN_LOOKS, enough
from diffcheck.decide.reasons import Code
from diffcheck.decide.speed import judge_interval
from diffcheck.experiment.model import Budget
from diffcheck.experiment.policy import Policy
from diffcheck.receipts.ab.samples import Interval

REPLAYS = 4
"""Replays a block."""
BY_CHANCE = 0.025
"""How often an interval that holds the truth as often as it should may look worse than is allowed."""
MOST_WRONG_PROMOTIONS = 0.01
LEAST_RIGHT_REJECTIONS = 0.95
SLOW = 1.03
"""A slow-down that must be found."""


def simulate_row(ratio: float, noise: Noise, budget: Budget, rng: np.random.Generator) -> Interval:
    """Measure a row whose true ratio is known until the budget says that it is enough."""
    factors = np.log(noise(rng, budget.max_blocks * REPLAYS)).reshape(budget.max_blocks, REPLAYS)
    orders = balanced_orders(rng)
    values: list[float] = []
    while True:
        for _ in range(BLOCKS_BETWEEN_LOOKS):
            block = factors[len(values)]
            sign = np.array([1.0 if side == "candidate" else -1.0 for side in next(orders)])
            values.append(math.log(ratio) + float(sign @ block) / 2.0)
            if len(values) == budget.max_blocks:
                break
        interval = interval_of(values, seed=int(rng.integers(2**31)))
        if enough(len(values), interval, budget) is not None:
            return interval


@dataclass(frozen=True)
class Rate:
    """How often something happened, of how many times, and what is allowed."""

    noise: str
    question: str
    hits: int
    runs: int
    least: float | None
    most: float | None

    @property
    def share(self) -> float:
        """Hits over runs."""
        return self.hits / self.runs

    @property
    def holds(self) -> bool:
        """Whether the share is within what is allowed; of no run it is not."""
        if not self.runs:
            return False
        above = self.least is None or self.share >= self.least
        below = self.most is None or self.share < self.most
        return above and below


@dataclass(frozen=True)
class Trial:
    """What is simulated: so many runs under one noise, as an experiment's budget measures them."""

    noise: str
    budget: Budget
    runs: int
    seed: int


def least_coverage(runs: int) -> float:
    """Return the share of so many runs that 95 % intervals have to hold the truth in: they miss it `BY_CHANCE`."""
    return float(stats.binom.ppf(BY_CHANCE, runs, CONFIDENCE)) / runs


def coverage(trial: Trial, ratio: float) -> Rate:
    """Return how often the interval of a row holds its true ratio."""
    rng = np.random.default_rng(trial.seed)
    intervals = (simulate_row(ratio, MODELS[trial.noise], trial.budget, rng) for _ in range(trial.runs))
    hits = sum(interval.low <= ratio <= interval.high for interval in intervals)
    question = f"the 95 % interval holds a true ratio of {ratio:g}"
    return Rate(trial.noise, question, hits, trial.runs, least_coverage(trial.runs), None)


def promoted_at_limit(trial: Trial, policy: Policy, rows: int) -> Rate:
    """Return how often a candidate that is exactly at the limit in every row of a host is promoted.

    One row whose interval is not within the limit is enough to prevent it: the rows after it are not simulated.
    """
    limit = policy.speed.limit

    def promoted(run: int) -> bool:
        rng = np.random.default_rng([trial.seed, run])
        return all(_code(trial, limit, policy, rng) is Code.SPEED_HOLDS for _ in range(rows))

    question = f"PROMOTE under {policy.name}, all {rows} rows exactly at {limit:g}"
    return Rate(trial.noise, question, _count(trial, promoted), trial.runs, None, MOST_WRONG_PROMOTIONS)


def rejected_when_slower(trial: Trial, policy: Policy) -> Rate:
    """Return how often a candidate is rejected that is 3 % past the limit in one row.

    One row past the limit rejects whatever the others are; they could only add rejections and are not simulated.
    """
    slow = SLOW * policy.speed.limit

    def rejected(run: int) -> bool:
        rng = np.random.default_rng([trial.seed, run])
        return _code(trial, slow, policy, rng) is Code.TOO_SLOW

    question = f"REJECT under {policy.name}, one row at {SLOW:g} of {policy.speed.limit:g}"
    return Rate(trial.noise, question, _count(trial, rejected), trial.runs, LEAST_RIGHT_REJECTIONS, None)


def _code(trial: Trial, ratio: float, policy: Policy, rng: np.random.Generator) -> Code:
    return judge_interval(simulate_row(ratio, MODELS[trial.noise], trial.budget, rng), policy.speed)


def _count(trial: Trial, happens: Callable[[int], bool]) -> int:
    return sum(happens(run) for run in range(trial.runs))
