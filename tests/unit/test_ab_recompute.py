"""What a run's receipt must come out as when it is made anew from its samples, and what each edit of one shows."""

from __future__ import annotations

import copy
import json
import statistics
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from diffcheck.ab.recompute import contradictions
from diffcheck.ab.run import SEED
from diffcheck.ab.stats import ratio_interval
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.samples import Block
from diffcheck.receipts.canonical import DIGEST_KEY, parse
from tests.factory.ab import Content, ab_content, comparison, retime, small_experiment

ROOT = Path(__file__).resolve().parents[2]
RECEIPTS = ("promote-oxide/h200.json", "promote-oxide-h200-repeat.json", "splitk-vs-naive/h200.json")
SMALL = small_experiment()
FIRST, SECOND = (row.name for row in experiment_rows(SMALL.content))

Change = Callable[[Content], object]


def wrong(content: Content) -> list[tuple[str, str]]:
    return contradictions(AbReceipt.model_validate({key: content[key] for key in content if key != DIGEST_KEY}))


@lru_cache(maxsize=1)
def _made() -> Content:
    return ab_content("h200", SMALL)


def made() -> Content:
    return copy.deepcopy(_made())


def edited(*changes: Change) -> list[tuple[str, str]]:
    content = made()
    for change in changes:
        change(content)
    return wrong(content)


def rederive(timed: Content) -> None:
    """Derive everything of a comparison anew from its blocks, as one would who edits them."""
    timing = timed["timing"]
    blocks = [Block.model_validate(block) for block in timing["blocks"]]
    used = [block for block in blocks if block.dropped is None]
    ratio = timing["ratio"]
    timing["ratio"] = ratio_interval(used, ratio["seed"], ratio["confidence"]).model_dump()
    timing["dropped_blocks"] = len(blocks) - len(used)
    for side in ("baseline", "candidate"):
        timing[f"{side}_us"] = statistics.median([us for block in used for us in block.times(side)])


@lru_cache(maxsize=3)
def _evidence(name: str) -> Content:
    content: Content = parse((ROOT / "evidence" / name).read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_of_a_device_contradicts_nothing(name: str) -> None:
    assert wrong(_evidence(name)) == []


def test_a_receipt_of_the_factory_contradicts_nothing() -> None:
    assert edited() == []


# --- comparisons


def _first(content: Content) -> Content:
    row: Content = content["rows"][0]
    return row


def _blocks(content: Content) -> list[Content]:
    blocks: list[Content] = _first(content)["timing"]["blocks"]
    return blocks


def _sorted_by_ratio(content: Content) -> None:
    """Put pairs of blocks in another order: of every two one is still ABBA."""
    blocks = _blocks(content)
    blocks[:] = [*blocks[2:], *blocks[:2]]
    rederive(_first(content))


def _all_begin_alike(content: Content) -> None:
    for block in _blocks(content):
        block["replays"].sort(key=lambda replay: replay["side"])
        a, b, c, d = block["replays"]
        block["replays"] = [a, c, d, b]
    rederive(_first(content))


def _longer(content: Content) -> None:
    block = _blocks(content)[1]
    block["replays"] += copy.deepcopy(block["replays"])
    block["readings"] += copy.deepcopy(block["readings"][1:])
    rederive(_first(content))


def _of_another_seed(content: Content) -> None:
    us = _first(content)["timing"]["baseline_us"]
    _first(content)["timing"] = comparison(us, 0.99, blocks=4, seed=SEED + 1)


def _narrower(share: float) -> Change:
    def change(content: Content) -> None:
        ratio = _first(content)["timing"]["ratio"]
        ratio["high"] -= share * (ratio["high"] - ratio["low"])

    return change


def _dropped_for(reason: str) -> Change:
    def change(content: Content) -> None:
        retime(_first(content), 0.99, blocks=8)
        block = _blocks(content)[5]
        block["readings"][1]["throttle"] = ["hw_slowdown"]
        block["dropped"] = reason
        rederive(_first(content))

    return change


def test_a_dropped_block_with_its_reason_is_no_contradiction() -> None:
    assert edited(_dropped_for("throttled: hw_slowdown")) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_sorted_by_ratio, "block 0 is ABBA, and the seed 20260714 draws BAAB"),
        (_all_begin_alike, "block 0 is ABBA, and the seed 20260714 draws BAAB"),
        (_longer, "block 1 is ABBAABBA, and the seed 20260714 draws ABBA"),
        (_of_another_seed, f"{FIRST} has the seed 20260715, and a run takes 20260714"),
        (_narrower(0.09), "high is stated as 0.9"),
        (_narrower(1e-5), "high is stated as 0.9"),
        (_dropped_for("cosmic ray"), "block 5 was dropped for 'cosmic ray', and its readings say 'throttled: hw_"),
        (lambda c: retime(_first(c), 0.99, blocks=404), "404 blocks, and the experiment asks for 400 at the most"),
        (lambda c: retime(_first(c), 0.99, blocks=401), "401 blocks, and the experiment asks for 400 at the most"),
        (lambda c: retime(_first(c), 0.99, blocks=6), "it ended after 6 blocks, and a run looks after every 4"),
    ],
)
def test_a_comparison_that_a_run_would_not_have_made(change: Change, message: str) -> None:
    ((row, said),) = edited(change)
    assert row == FIRST
    assert said.startswith(message)


def test_a_run_that_ends_at_its_last_block_need_not_have_a_multiple_of_four() -> None:
    content = made()
    budget = {**content["experiment"]["content"]["budget"], "max_blocks": 6}
    content["experiment"]["content"]["budget"] = budget
    Experiment.model_validate(content["experiment"]["content"])
    retime(_first(content), 0.99, blocks=6)
    assert wrong(content) == []


@pytest.mark.parametrize(("place", "seed"), [(0, SEED + 11), (1, SEED + 12), (2, SEED + 12), (3, SEED + 1)])
def test_each_control_has_a_seed_of_its_rows(place: int, seed: int) -> None:
    content = made()
    control: Any = content["controls"][place]
    assert control["timing"]["ratio"]["seed"] == seed
    ratio = control["timing"]["ratio"]
    control["timing"] = comparison(control["timing"]["baseline_us"], ratio["estimate"], 0.003, 4, ratio["confidence"])
    assert wrong(content) == [
        (control["case"], f"a control on {control['case']} has the seed {SEED}, and a run takes {seed}")
    ]


# --- floors


def _floor(change: Change, place: int = 1) -> Change:
    def changed(content: Content) -> None:
        floor = _first(content)["floors"][place]
        change(floor)
        floor["median_us"] = statistics.median(floor["samples_us"])

    return changed


def _scaled_floor(times: float) -> Change:
    """A read floor that takes so many times the faster arm's median."""

    def changed(content: Content) -> None:
        timing, floor = _first(content)["timing"], _first(content)["floors"][1]
        by = times * min(timing["baseline_us"], timing["candidate_us"]) / floor["median_us"]
        _floor(lambda one: one.update(samples_us=[us * by for us in one["samples_us"]]))(content)

    return changed


def _floor_of_the_other_row(content: Content) -> None:
    _first(content)["floors"][0] = copy.deepcopy(content["rows"][1]["floors"][0])


def test_a_floor_may_be_slower_than_an_arm_by_noise_and_have_lost_places() -> None:
    assert edited(_scaled_floor(1.049)) == []
    shorter = _floor(lambda one: one.update(samples_us=one["samples_us"][:2]), 0)
    assert edited(shorter, _floor(lambda one: one.update(samples_us=one["samples_us"][:2]))) == []


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (_scaled_floor(1.051), ["the read floor takes 7.9"]),
        (
            _floor(lambda one: one.update(samples_us=[6e4])),
            [
                "the read floor has 1 samples, and a run takes two at each of up to 5 places",
                "there are 10 of the empty floor and 1 of the read floor, and a run takes them in turn",
                "the read floor takes 60000 µs, and the faster arm 7.5",
            ],
        ),
        (
            _floor(lambda one: one.update(samples_us=[*one["samples_us"], *one["samples_us"][:2]]), 0),
            [
                "the empty floor has 12 samples, and a run takes two at each of up to 5 places",
                "there are 12 of the empty floor and 10 of the read floor",
            ],
        ),
        (
            _floor(lambda one: one.update(samples_us=one["samples_us"][:4])),
            ["there are 10 of the empty floor and 4 of the read floor"],
        ),
    ],
)
def test_floors_that_a_run_would_not_have_taken(change: Change, messages: list[str]) -> None:
    found = edited(change)
    assert {row for row, _ in found} == {FIRST}
    assert all(said.startswith(message) for (_, said), message in zip(found, messages, strict=True)), found


def test_no_floor_is_there_twice() -> None:
    assert edited(_floor_of_the_other_row) == [
        (SECOND, f"the samples of the empty floor of {SECOND} are those of the empty floor of {FIRST}")
    ]


def test_the_draws_of_a_seed_are_those_of_every_numpy_that_is_allowed() -> None:
    """Orders and intervals are made anew: another stream of draws would contradict every receipt there is."""
    order = [block["replays"][0]["side"][0] for block in comparison(10.0, 1.0, blocks=12)["blocks"]]
    assert "".join(order) == "cbbccbcbbcbc"
    interval = comparison(10.0, 1.0, 0.01, blocks=12)["ratio"]
    assert json.dumps([round(interval[name], 9) for name in ("low", "high")]) == "[0.990049834, 1.009763009]"
