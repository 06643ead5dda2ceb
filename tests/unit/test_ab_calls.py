"""How many calls a graph has: alike for sides that are alike, as long as each other for sides that are far apart."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import ValidationError

from diffcheck.ab.bench import planted, planted_share
from diffcheck.ab.calls import FAR_APART, common_calls, divided_calls, own_calls
from diffcheck.experiment.load import load_experiment
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.ab.rows import Row
from diffcheck.timing.graph import GRAPH_US
from tests.factory.ab import row_content

# What an H200 took, µs a call: split-K, one block a head, copies of K and V.
MEASURED = [
    (7.1, 290.3, 12),
    (10.9, 573.2, 6),
    (22.3, 1393.2, 3),
    (58.8, 4205.8, 2),
    (138.9, 10368.3, 2),
    (242.9, 18371.8, 2),
    (474.2, 18418.0, 2),
]


@pytest.mark.parametrize(("fast", "slow", "sets"), MEASURED)
def test_a_side_that_is_far_slower_has_a_graph_as_long_as_the_others(fast: float, slow: float, sets: int) -> None:
    common = common_calls(fast, sets, 50)
    own = own_calls(slow, fast, common, sets)
    assert common % sets == own % sets == 0
    lasts = common * fast
    assert lasts >= GRAPH_US * 0.9
    # No shorter, and longer by less than one pass over the copies.
    assert lasts <= own * slow < lasts + sets * slow


@pytest.mark.parametrize("times", [1.0, 1.1, 2.0, 0.99 * FAR_APART])
def test_sides_that_are_not_far_apart_have_as_many(times: float) -> None:
    assert own_calls(10.0 * times, 10.0, 450, 6) == 450


def test_a_slow_side_reads_every_copy() -> None:
    assert own_calls(1e9, 1.0, 4000, 3) == 3


@pytest.mark.parametrize("percents", [(), (2.0,), (10.0,), (2.5, 10.0)])
@pytest.mark.parametrize(("calls", "sets"), [(2, 2), (150, 2), (7, 7), (1150, 23)])
def test_planted_shares_are_whole_calls_of_whole_passes(percents: tuple[float, ...], calls: int, sets: int) -> None:
    shares = [planted_share(planted(percent)) for percent in percents]
    made = divided_calls(calls, sets, shares)
    assert made >= calls
    assert made % sets == 0
    assert all((share * made).denominator == 1 for share in shares)


def test_calls_that_the_shares_divide_stay_as_they_are() -> None:
    assert divided_calls(150, 2, [Fraction(1, 50)]) == 150


@pytest.mark.parametrize(("calls", "accepted"), [((4, 100), True), ((2, 100), True), ((1, 100), False)])
def test_a_receipt_has_unlike_numbers_of_calls_only_where_the_graphs_last_alike(
    calls: tuple[int, int], accepted: bool
) -> None:
    experiment = load_experiment("splitk-vs-naive").content
    made = row_content("h200", experiment_rows(experiment)[0], experiment.relation, ratio=0.03)
    for side, count in zip(("baseline", "candidate"), calls, strict=True):
        made[side]["calls"] = count
    if accepted:
        row = Row.model_validate(made)
        assert (row.baseline.calls, row.candidate.calls) == calls
    else:
        with pytest.raises(ValidationError, match="calls: 1 and 100 share a graph's start unequally"):
            Row.model_validate(made)
