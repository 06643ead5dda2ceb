"""What a run's receipt must come out as when it is made anew from its samples, and what each edit of one shows."""

from __future__ import annotations

import copy
import json
import re
import statistics
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from diffcheck.ab.beside import BLOCKS
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
    assert edited(_scaled_floor(1.099)) == []
    shorter = _floor(lambda one: one.update(samples_us=one["samples_us"][:2]), 0)
    assert edited(shorter, _floor(lambda one: one.update(samples_us=one["samples_us"][:2]))) == []


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (_scaled_floor(1.101), ["the read floor takes 8."]),
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


# --- peers


def _with_peers(content: Content) -> None:
    """Two peers that were timed beside the arms of the first row, and one whose own benchmark timed it."""
    row = _first(content)
    us = {side: row["timing"][f"{side}_us"] for side in ("baseline", "candidate")}
    noises = [1.0 + 0.001 * at for at in range(-BLOCKS, BLOCKS)]
    pairs = list(zip(noises[::2], noises[1::2], strict=True))
    arms = [{f"{side}_us": [us[side] * noise for noise in pair] for side in us} for pair in pairs]
    row["peers"] = []
    for name, times in (("torch-flash", 2.0), ("flashinfer", 1.5)):
        peer_us = [[us["baseline"] * times * noise for noise in pair] for pair in pairs]
        beside = [{**copy.deepcopy(block), "peer_us": pair} for block, pair in zip(arms, peer_us, strict=True)]
        row["peers"].append({"name": name, "version": "1", "beside": beside, "max_rel_error": 6e-4, "reason": None})
    imported = {"name": "llama.cpp", "version": "1", "samples_us": [3.0 * us["baseline"]], "reason": None}
    row["peers"].append(imported)
    _derive_peers(row)


def _derive_peers(row: Content) -> None:
    for peer in row["peers"]:
        if peer.get("beside"):
            peer["samples_us"] = [us for block in peer["beside"] for us in block["peer_us"]]
        peer["median_us"] = statistics.median(peer["samples_us"])
        peer["ratio"] = peer["median_us"] / row["timing"]["baseline_us"]


def _peers(change: Callable[[list[Content]], object]) -> Change:
    def changed(content: Content) -> None:
        _with_peers(content)
        change(_first(content)["peers"])
        _derive_peers(_first(content))

    return changed


def _arms_slower(by: float, sides: tuple[str, ...]) -> Callable[[list[Content]], object]:
    def change(peers: list[Content]) -> None:
        for block in (block for peer in peers[:2] for block in peer["beside"]):
            for side in sides:
                block[f"{side}_us"] = [us * by for us in block[f"{side}_us"]]

    return change


def _same_samples(peers: list[Content]) -> None:
    peers[1]["beside"] = copy.deepcopy(peers[0]["beside"])


def _other_arms(peers: list[Content]) -> None:
    peers[1]["beside"][3]["candidate_us"][0] *= 1.001


def _peers_of_the_first_row(content: Content) -> None:
    """The second row with the times of the first: its arms are as fast, and its peers are copied."""
    _with_peers(content)
    first, second = content["rows"]
    second["peers"] = copy.deepcopy(first["peers"])
    timing = second["timing"]
    us = first["timing"]["baseline_us"]
    second["timing"] = comparison(us * 1.001, 0.99, blocks=4, seed=timing["ratio"]["seed"])
    second["floors"][1]["samples_us"] = [0.8 * us + 0.01 * at for at in range(10)]
    second["floors"][1]["median_us"] = statistics.median(second["floors"][1]["samples_us"])
    content["controls"] = content["controls"][3:]
    second["above_peak"] = True
    _derive_peers(second)


def test_peers_beside_the_arms_and_a_little_noise_are_no_contradiction() -> None:
    assert edited(_with_peers) == []
    assert edited(_peers(_arms_slower(0.91, ("baseline",)))) == []
    assert edited(_peers(_arms_slower(1.09, ("candidate",)))) == []


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (_arms_slower(0.89, ("baseline",)), ["beside its peers builder takes 6."]),
        (_arms_slower(1.11, ("candidate",)), ["beside its peers oxide takes 8."]),
        (_arms_slower(0.01, ("baseline", "candidate")), ["beside its peers builder", "beside its peers oxide"]),
        (_other_arms, ["flashinfer and torch-flash are not beside the same replays of the arms"]),
        (
            lambda peers: [peer["beside"].pop() for peer in peers[:2]],
            [
                "torch-flash was timed in 9 blocks beside the arms, and a run takes 10",
                "flashinfer was timed in 9 blocks beside the arms, and a run takes 10",
            ],
        ),
        (
            lambda peers: peers[0].update(beside=[]),
            ["torch-flash was timed in 0 blocks beside the arms, and a run takes 10"],
        ),
        (
            lambda peers: peers[2].update(beside=peers[0]["beside"][:1]),
            [
                "llama.cpp was timed in 1 blocks beside the arms, and a run takes 0",
                "llama.cpp has 2 samples, and its own benchmark tells one time",
                "llama.cpp and torch-flash are not beside the same replays of the arms",
            ],
        ),
        (_same_samples, [f"the samples of flashinfer on {FIRST} are those of torch-flash on {FIRST}"]),
    ],
)
def test_peers_that_a_run_would_not_have_timed(change: Callable[[list[Content]], object], messages: list[str]) -> None:
    found = edited(_peers(change))
    assert {row for row, _ in found} == {FIRST}
    assert all(said.startswith(message) for (_, said), message in zip(found, messages, strict=True)), found


def test_no_peer_and_no_arm_beside_one_is_there_twice() -> None:
    assert edited(_peers_of_the_first_row) == [
        (SECOND, f"the samples of {what} on {SECOND} are those of {what} on {FIRST}")
        for what in ("torch-flash", "flashinfer", "the arms beside peers")
    ]


# --- controls, and the seconds of all


def _exchanged(content: Content) -> None:
    """The readings of 2 % and 10 % under each other's names."""
    two, ten = content["controls"][1:3]
    two["timing"], ten["timing"] = ten["timing"], two["timing"]


def _controls_slower(by: float) -> Change:
    def change(content: Content) -> None:
        for control in content["controls"]:
            for replay in (replay for block in control["timing"]["blocks"] for replay in block["replays"]):
                replay["us"] *= by
            rederive(control)

    return change


def _planted(place: int, ratio: float, half_width: float = 0.003) -> Change:
    return lambda content: retime(content["controls"][place], ratio, half_width)


def test_a_control_may_take_another_time_by_noise_and_find_a_slow_down_about() -> None:
    assert edited(_controls_slower(1.09)) == []
    assert edited(_controls_slower(0.91)) == []
    assert edited(_planted(1, 1.013), _planted(2, 1.195)) == []
    assert edited(_planted(1, 1.009, 0.004)) == []


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (
            _exchanged,
            ["2 % were planted, and 1.0947 to 1.1013 found", "10 % were planted, and 1.0164 to 1.0226 found"],
        ),
        (_controls_slower(1000.0), ["a control takes "] * 4),
        (_controls_slower(0.89), ["a control takes "] * 4),
        (_planted(1, 1.005), ["2 % were planted, and 1.002"]),
        (_planted(2, 1.21), ["10 % were planted, and 1.20"]),
    ],
)
def test_controls_that_a_run_would_not_have_found(change: Change, messages: list[str]) -> None:
    found = edited(change)
    assert {row for row, _ in found} <= {FIRST, SECOND}
    assert all(said.startswith(message) for (_, said), message in zip(found, messages, strict=True)), found


def test_a_run_lasts_as_long_as_its_replays_at_least() -> None:
    content = made()
    rows = [(row, row[side]["calls"], side) for row in content["rows"] for side in ("baseline", "candidate")]
    replayed = 1e-6 * sum(
        replay["us"] * calls
        for row, calls, side in rows
        for block in row["timing"]["blocks"]
        for replay in block["replays"]
        if replay["side"] == side
    )
    content["parts"][0]["seconds"] = 1.001 * replayed
    assert wrong(content) == []
    content["parts"][0]["seconds"] = 0.999 * replayed
    ((row, said),) = wrong(content)
    assert row == FIRST
    assert re.fullmatch(r"all parts together took 0\.\d+ s, and the replays of the rows' blocks alone 0\.\d+", said)
    content["parts"].append({**content["parts"][0], "seconds": 0.002 * replayed})
    assert wrong(content) == []
    content["parts"] = [{**content["parts"][0], "seconds": 0.0, "resumed": True}]
    assert wrong(content) == []


def test_the_draws_of_a_seed_are_those_of_every_numpy_that_is_allowed() -> None:
    """Orders and intervals are made anew: another stream of draws would contradict every receipt there is."""
    order = [block["replays"][0]["side"][0] for block in comparison(10.0, 1.0, blocks=12)["blocks"]]
    assert "".join(order) == "cbbccbcbbcbc"
    interval = comparison(10.0, 1.0, 0.01, blocks=12)["ratio"]
    assert json.dumps([round(interval[name], 9) for name in ("low", "high")]) == "[0.990049834, 1.009763009]"
