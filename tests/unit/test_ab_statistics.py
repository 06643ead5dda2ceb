from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffcheck.ab.noise import MODELS
from diffcheck.ab.schedule import ABBA, BAAB, balanced_orders
from diffcheck.ab.simulate import (
    BY_CHANCE,
    Rate,
    Trial,
    coverage,
    least_coverage,
    promoted_at_limit,
    rejected_when_slower,
)
from diffcheck.ab.stats import interval_of
from diffcheck.ab.stopping import OVERRUN, enough
from diffcheck.experiment.load import load_policy
from diffcheck.experiment.model import Budget

BUDGET = Budget(interval_width=0.02, seconds_per_row=60.0, min_blocks=12, max_blocks=60)

logs = st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=40)


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_of_every_two_blocks_one_is_of_each_order(seed: int) -> None:
    orders = balanced_orders(np.random.default_rng(seed))
    for _ in range(20):
        assert {next(orders), next(orders)} == {ABBA, BAAB}


def test_both_orders_come_first() -> None:
    firsts = {next(balanced_orders(np.random.default_rng(seed))) for seed in range(20)}
    assert firsts == {ABBA, BAAB}


@given(values=logs, seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=50)
def test_the_interval_holds_its_estimate_and_depends_on_nothing_but_values_and_seed(
    values: list[float], seed: int
) -> None:
    interval = interval_of(values, seed)
    assert interval.low <= interval.estimate <= interval.high
    assert interval == interval_of(values, seed)


def test_equal_blocks_leave_no_doubt() -> None:
    interval = interval_of([math.log(1.25)] * 10, 0)
    assert interval.low == interval.high == pytest.approx(1.25)


def test_a_quarter_of_spoilt_blocks_moves_nothing() -> None:
    clean = [0.0] * 15
    assert interval_of([*clean, *[3.0] * 5], 0).estimate == 1.0


def test_one_block_is_not_enough() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        interval_of([0.0], 0)


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    values = list(np.random.default_rng(3).normal(0.0, 0.01, 30))
    narrow, wide = interval_of(values, 0), interval_of(values, 0, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_sampling_ends_for_the_stated_reasons_only() -> None:
    narrow = interval_of([0.0] * 12, 0)
    wide = interval_of([-0.2, 0.2] * 6, 0)
    assert enough(12, narrow, BUDGET) == "narrow"
    assert enough(11, narrow, BUDGET) is None
    assert enough(12, wide, BUDGET) is None
    assert enough(12, wide, BUDGET, blocks=60) == "blocks"
    assert enough(12, wide, BUDGET, seconds=60.0) == "budget"
    assert enough(11, wide, BUDGET, seconds=60.0) is None
    assert enough(11, wide, BUDGET, seconds=60.0 * OVERRUN) == "budget"


@pytest.mark.parametrize("noise", MODELS)
def test_rates_under_noise(noise: str) -> None:
    trial = Trial(noise, BUDGET, 40, seed=7)
    # The seed is fixed. `diffcheck simulate` has more runs.
    assert coverage(trial, 1.0).holds
    assert promoted_at_limit(trial, load_policy("faster"), rows=12).hits == 0
    assert rejected_when_slower(trial, load_policy("faster")).share >= 0.9


@pytest.mark.parametrize("runs", [20, 40, 400])
def test_intervals_may_miss_as_often_as_chance_has_it(runs: int) -> None:
    allowed = round(least_coverage(runs) * runs)
    exactly = [math.comb(runs, hits) * 0.95**hits * 0.05 ** (runs - hits) for hits in range(allowed + 1)]
    assert sum(exactly[:-1]) <= BY_CHANCE < sum(exactly)


def test_a_rate_over_no_run_does_not_hold() -> None:
    assert not Rate("quiet", "?", 0, 0, None, 0.5).holds
