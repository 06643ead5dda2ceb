"""The speed goals: each kind met, missed and at its edge, rows that are missing, receipts that do not count."""

from __future__ import annotations

import copy
import json
import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffcheck.cli.main import run
from diffcheck.errors import BadInputError
from diffcheck.experiment.load import data_folder, load_experiment
from diffcheck.experiment.rows import experiment_rows
from diffcheck.goals.interval import block_logs, interval_between, peer_interval
from diffcheck.goals.judge import Held, judge
from diffcheck.goals.load import goals_names, load_goals, selected_rows
from diffcheck.goals.model import ErrorGoal, FloorGoal, Goal, PeerGoal, RatioGoal, TimeGoal
from diffcheck.receipts.ab.rows import Row
from tests.factory.ab import Content, ab_content, comparison, drop_row, fail_parity, retime, row_content, write_evidence

SHIPPED = data_folder() / "goals" / "h200.toml"
NAME = "random-16x4-L60000-f16"
OF = {"title": "made for a test", "experiment": "promote-oxide"}
# Goals that every synthetic receipt meets: its candidate takes 0.99 of the baseline, its floor 0.8. They select few
# rows, and `receipt()` has these, and those that its controls are of.
ROWS = (*(f"random-16x4-L{kv_len}-f16" for kv_len in (4096, 8192, 20000, 60000)), "rising-16x4-L60000-f16")
LENIENT = """schema = "diffcheck-goals/1"
name = "lenient"
title = "made for a test"
device = "NVIDIA H200"
arch = "sm_90"

[[goals]]
kind = "time"
title = "short"
experiment = "promote-oxide"
heads = [[16, 4]]
storages = ["f16"]
at_most_us = [[4096, 1000.0]]

[[goals]]
kind = "floor"
title = "floor"
experiment = "promote-oxide"
heads = [[16, 4]]
storages = ["f16"]
from_kv_len = 20000
below_kv_len = 148000
share = 0.5

[[goals]]
kind = "ratio"
title = "ratio"
experiment = "promote-oxide"
heads = [[16, 4]]
storages = ["f16"]
generators = ["random"]
below_kv_len = 148000
at_most = 1.0
"""


def peer(name: str, samples: list[float], baseline_us: float, error: float | None = 6e-4) -> Content:
    median = float(np.median(samples))
    return {
        "name": name,
        "version": "1.0",
        "samples_us": samples,
        "median_us": median,
        "ratio": median / baseline_us,
        "max_rel_error": error,
        "reason": None,
    }


def row(timing: Content | None = None, *, floor_us: float = 8.0, peers: list[Content] | None = None) -> Row:
    """A row whose arms take 10 µs, unless told otherwise."""
    asked = next(one for one in experiment_rows(load_experiment("promote-oxide").content) if one.name == NAME)
    content = row_content("h200", asked, "bitwise")
    content["timing"] = timing or comparison(10.0, 0.99)
    content["floors"][1].update(samples_us=[floor_us], median_us=floor_us)
    content["peers"] = content["peers"] if peers is None else peers
    return Row.model_validate(content)


def one(goal: Goal, of: Row | None) -> Held:
    (held,) = judge(goal, of)
    return held


def met(goal: Goal, of: Row) -> list[bool]:
    return [side.met for side in one(goal, of).sides]


def time_goal(us: float) -> TimeGoal:
    return TimeGoal(kind="time", at_most_us=((60000, us),), **OF)


def floor_goal(**allowed: float) -> FloorGoal:
    return FloorGoal.model_validate({"kind": "floor", **OF, **allowed})


PEERS = PeerGoal(kind="peer", peers=("flashinfer",), peers_where_measured=("llama.cpp",), share=0.5, **OF)


def test_a_time_is_met_up_to_its_limit() -> None:
    made = row(comparison(10.0, 1.25))
    assert made.timing is not None
    slower = made.timing.candidate_us
    assert met(time_goal(slower), made) == [True, True]
    assert met(time_goal(math.nextafter(slower, 0)), made) == [True, False]
    assert met(time_goal(9.0), made) == [False, False]
    held = one(time_goal(20.0), made)
    first = held.sides[0]
    assert (first.arm, first.measured, first.share, held.allowed, held.unit) == ("builder", 10.0, 0.5, 20.0, "µs")


def test_a_floor_is_held_by_a_share_of_its_rate_and_by_a_distance() -> None:
    made = row(comparison(10.0, 1.0, half_width=0.0), floor_us=8.0)
    assert met(floor_goal(share=0.8), made) == [True, True]
    assert met(floor_goal(share=math.nextafter(0.8, 1)), made) == [False, False]
    assert met(floor_goal(plus_us=2.0), made) == [True, True]
    assert met(floor_goal(plus_us=1.999999), made) == [False, False]
    assert met(floor_goal(share=0.9, plus_us=1.2), made) == [True, True]
    held = one(floor_goal(share=0.8), made)
    assert (held.reference, held.allowed, held.sides[0].share) == (8.0, 10.0, 0.8)


def test_the_best_grid_of_a_floor_counts() -> None:
    made = row(comparison(10.0, 1.0, half_width=0.0), floor_us=9.5)
    faster = made.floors[1].model_copy(update={"median_us": 8.0, "samples_us": (8.0,)})
    assert one(floor_goal(share=0.97), made.model_copy(update={"floors": (*made.floors, faster)})).reference == 8.0


def test_a_peer_that_can_be_beaten_must_be_with_the_whole_interval() -> None:
    timing = comparison(10.0, 1.0, half_width=0.0)
    same = row(timing, floor_us=4.9, peers=[peer("flashinfer", [10.0] * 9, 10.0)])
    assert met(PEERS, same) == [False, False], "an interval that holds 1 is not faster"
    slower = row(timing, floor_us=4.9, peers=[peer("flashinfer", [10.1] * 9, 10.0)])
    assert met(PEERS, slower) == [True, True]
    noisy = row(timing, floor_us=4.9, peers=[peer("flashinfer", [9.0, 9.5, 10.0, 10.2, 10.2, 10.4, 11.0], 10.0)])
    held = one(PEERS, noisy)
    assert [side.met for side in held.sides] == [False, False]
    assert held.sides[0].high is not None
    assert held.sides[0].high > 1.0 > held.sides[0].measured
    assert "whole interval" in held.rule


def test_a_peer_at_the_floor_may_be_as_fast_but_no_faster() -> None:
    timing = comparison(10.0, 1.0, half_width=0.0)
    # Exactly at floor / share: not above it.
    same = row(timing, floor_us=5.0, peers=[peer("flashinfer", [10.0] * 9, 10.0)])
    assert met(PEERS, same) == [True, True]
    faster = row(timing, floor_us=5.0, peers=[peer("flashinfer", [9.9] * 9, 10.0)])
    assert met(PEERS, faster) == [False, False]
    unsure = row(timing, floor_us=5.0, peers=[peer("flashinfer", [9.0, 9.5, 9.9, 9.9, 10.0, 10.1, 11.0], 10.0)])
    assert met(PEERS, unsure) == [True, True]


def test_only_the_arm_that_is_slower_than_a_peer_misses() -> None:
    made = row(comparison(10.0, 1.2), floor_us=2.0, peers=[peer("flashinfer", [11.0] * 9, 10.0)])
    assert met(PEERS, made) == [True, False]


def test_a_peer_that_must_be_timed_and_one_that_may() -> None:
    timing = comparison(10.0, 1.0, half_width=0.0)
    absent = one(PEERS, row(timing))
    assert (absent.sides, absent.reason) == ((), "not installed")
    assert one(PEERS, row(timing, peers=[])).reason == "the receipt has no time of it"
    imported = row(timing, peers=[peer("flashinfer", [20.0] * 9, 10.0), peer("llama.cpp", [9.0], 10.0, None)])
    found = [(held.against, [side.met for side in held.sides]) for held in judge(PEERS, imported)]
    # 9 µs is within the floor of 8 µs over 0.5, and the arms take 10.
    assert found == [("flashinfer", [True, True]), ("llama.cpp", [False, False])]


def test_one_block_beside_one_time_of_a_peer_is_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = comparison(10.0, 0.9, blocks=1)
    held = one(PEERS, row(alone, peers=[peer("flashinfer", [20.0], 10.0)]))
    assert (held.sides, held.reason) == ((), "one block, and one time of the peer")
    where_measured = row(alone, peers=[peer("flashinfer", [20.0, 20.1], 10.0), peer("llama.cpp", [30.0], 10.0)])
    found = [(held.against, held.reason) for held in judge(PEERS, where_measured)]
    assert found == [("flashinfer", None), ("llama.cpp", "one block, and one time of the peer")]

    content = receipt()
    timed = content["rows"][place(content, NAME)]
    us = timed["timing"]["baseline_us"]
    timed.update(timing=comparison(us, 0.9, blocks=1), peers=[peer("flashinfer", [2.0 * us], us)])
    options = evidence(tmp_path, content)
    goals = tmp_path / "lenient.toml"
    added = """
[[goals]]
kind = "peer"
title = "peer"
experiment = "promote-oxide"
heads = [[16, 4]]
storages = ["f16"]
generators = ["random"]
from_kv_len = 60000
below_kv_len = 60001
peers = ["flashinfer"]
share = 0.5
"""
    goals.write_text(goals.read_text(encoding="utf-8") + added, encoding="utf-8")
    (line,) = [line for line in report(tmp_path, options, 1)["lines"] if line["kind"] == "peer"]
    assert (line["status"], line["reason"]) == ("not measured", "one block, and one time of the peer")
    assert "not measured: one block" in capsys.readouterr().out


def test_an_error_is_met_up_to_its_part_of_the_peers() -> None:
    goal = ErrorGoal(kind="error", peer="flashinfer", times=128.0, **OF)
    error = 2e-7  # of the synthetic arms
    exact = row(peers=[peer("flashinfer", [20.0], 10.0, error * 128)])
    assert met(goal, exact) == [True, True]
    held = one(goal, exact)
    assert held.sides[0].share == pytest.approx(128.0)
    assert met(goal, row(peers=[peer("flashinfer", [20.0], 10.0, math.nextafter(error, 0) * 128)])) == [False, False]
    assert one(goal, row(peers=[peer("flashinfer", [20.0], 10.0, None)])).reason == "the receipt has no error of it"
    assert one(goal, row()).reason == "not installed"


def test_an_arm_without_an_error_or_with_none_that_is_a_number_misses() -> None:
    goal = ErrorGoal(kind="error", peer="flashinfer", times=100.0, **OF)
    made = row(peers=[peer("flashinfer", [20.0], 10.0)])
    without = made.model_copy(update={"parity": tuple(one for one in made.parity if one.name != "oracle")})
    assert "no error of builder" in (one(goal, without).reason or "")
    broken = [
        check.model_copy(update={"whole": check.whole.model_copy(update={"max_rel": math.nan})})
        if check.name == "oracle" and check.a == "oxide" and check.whole
        else check
        for check in made.parity
    ]
    assert met(goal, made.model_copy(update={"parity": tuple(broken)})) == [True, False]


def test_a_ratio_is_met_while_its_upper_end_is_at_the_limit() -> None:
    made = row()
    assert made.timing is not None
    high = made.timing.ratio.high
    assert met(RatioGoal(kind="ratio", at_most=high, **OF), made) == [True]
    assert met(RatioGoal(kind="ratio", at_most=math.nextafter(high, 0), **OF), made) == [False]


@pytest.mark.parametrize("goal", load_goals("h200").goals, ids=lambda goal: goal.title)
def test_a_row_that_is_missing_or_failed_parity_is_not_measured(goal: Goal) -> None:
    failed = row().model_copy(update={"timing": None, "status": "fails parity"})
    for of, why in ((None, "no receipt has it"), (failed, "fails parity")):
        found = judge(goal, of)
        assert found
        assert {(held.sides, held.reason) for held in found} == {((), why)}


def test_the_interval_against_a_peer_covers_what_it_says() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for seed in range(300):
        arm, other = rng.normal(math.log(0.98), 0.004, 20), rng.normal(0.0, 0.004, 9)
        made = interval_between(list(arm), list(other), seed)
        held += made.low <= 0.98 <= made.high
    assert held >= 0.93 * 300


def test_a_peer_between_the_arms_is_paired_with_them() -> None:
    timing = row(comparison(10.0, 1.0)).timing
    assert timing is not None
    blocks = [
        # What disturbs a block disturbs all of it, by far more than the peer is slower.
        {"baseline_us": [10.0 * noise] * 2, "candidate_us": [9.9 * noise] * 2, "peer_us": [10.1 * noise] * 2}
        for noise in (1.0, 1.2, 0.9, 1.1, 1.05, 0.95, 1.0, 1.3)
    ]
    samples = [us for block in blocks for us in block["peer_us"]]
    paired = row(comparison(10.0, 1.0), peers=[{**peer("flashinfer", samples, 10.0), "beside": blocks}]).peers[0]
    for side, ratio in (("baseline", 10.0 / 10.1), ("candidate", 9.9 / 10.1)):
        made = peer_interval(timing, side, paired)  # type: ignore[arg-type]
        assert (made.low, made.estimate, made.high) == pytest.approx((ratio, ratio, ratio))
    alone = peer_interval(timing, "baseline", paired.model_copy(update={"beside": ()}))
    assert alone.low < 0.97
    assert alone.high > 1.01


def test_samples_that_are_not_those_between_the_arms_are_refused() -> None:
    beside = [{"baseline_us": [10.0, 10.0], "candidate_us": [10.0, 10.0], "peer_us": [11.0, 11.0]}]
    with pytest.raises(ValueError, match="samples_us contradicts what was taken beside the arms"):
        row(peers=[{**peer("flashinfer", [11.0, 11.0, 11.0], 10.0), "beside": beside}])


def test_a_side_of_one_number_is_exact_and_fewer_is_refused() -> None:
    arm = block_logs(row(comparison(10.0, 0.9)).timing.blocks, "candidate")  # type: ignore[union-attr]
    alone = interval_between(arm, [math.log(10.0)], 3)
    assert alone.estimate == pytest.approx(0.9, rel=1e-3)
    assert alone.low < alone.estimate < alone.high
    assert interval_between([0.0, 0.0], [0.0], 3).width == 0.0
    for first, second in (([], [0.0, 0.0]), ([0.0], [0.0]), ([0.0, 0.0], [])):
        with pytest.raises(ValueError, match="at least 2 and 1"):
            interval_between(first, second, 3)


def test_a_dropped_block_is_no_sample_of_an_arm() -> None:
    timing = row(comparison(10.0, 0.9)).timing
    assert timing is not None
    blocks = (timing.blocks[0].model_copy(update={"dropped": "throttled: sync_boost"}), *timing.blocks[1:])
    assert len(block_logs(blocks, "baseline")) == len(timing.blocks) - 1


# --- the file of goals


def test_the_shipped_goals_ask_for_every_row_that_they_should() -> None:
    assert goals_names() == ("h200",)
    goals = load_goals("h200")
    asked = {goal.title: {row.name for row in selected_rows(goal)} for goal in goals.goals}
    rows = experiment_rows(load_experiment("promote-oxide").content)
    long = {row.name for row in rows if row.baseline_case.kv_len >= 60000}
    f16 = {row.name for row in rows if row.baseline_case.storage == "f16" and row.baseline_case.generator == "random"}
    assert long in asked.values()
    assert f16 in asked.values()
    assert {row.name for row in rows} in asked.values()
    assert len(f16) == 18


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("share = 0.97", "share = 1.5", r"h200\.toml, goals\.1\.floor\.share: 1\.5"),
        ("share = 0.97", "shear = 0.97", r"goals\.1\.floor\.shear"),
        ('kind = "error"', 'kind = "errors"', r"goals\.5"),
        (
            'experiment = "promote-oxide"',
            'experiment = "promote-oxyde"',
            r"h200\.toml, goals\.0\.experiment: 'promote-oxyde'",
        ),
        ('"torch-cudnn"', '"torch-cuda"', r"goals\.4\.peers: 'torch-cuda'"),
        ('peer = "flashinfer"', 'peer = "llama.cpp"', r"goals\.5\.peer: 'llama\.cpp'"),
        ('"torch-cudnn"', '"flashinfer"', r"goals\.4\.peer: peers, peers_where_measured: flashinfer is there twice"),
        ('["llama.cpp"]', '["flashinfer"]', r"h200\.toml, goals\.4.* flashinfer is there twice"),
        ('["llama.cpp"]', '["llama.cpp", "llama.cpp"]', r"h200\.toml, goals\.4.* llama\.cpp is there twice"),
        ("[4096, 8.5]", "[4097, 8.5]", r"goals\.0\.at_most_us: 4097"),
        ("[4096, 8.5]", "[8192, 8.5]", "8192 is there twice"),
        ("[4096, 8.5]", "[4096, -8.5]", "greater than 0"),
        ("heads = [[16, 4]]", "heads = [[17, 4]]", "a goal that selects rows of promote-oxide"),
        ("below_kv_len = 20000", "below_kv_len = 20000\nfrom_kv_len = 20000", "is not below below_kv_len"),
        ('title = "f32, within', 'title = "f16 16/4, short"\n#', "two have the title"),
        ('name = "h200"', 'name = "h100"', "the name of its file, h200"),
        ("diffcheck-goals/1", "diffcheck-goals/2", "schema"),
        ('arch = "sm_90"', 'arch = "90"', r"h200\.toml, arch"),
    ],
)
def test_a_wrong_file_of_goals_is_refused_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "h200.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(BadInputError, match=message) as caught:
        load_goals(str(path))
    assert "h200.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


# --- the command


@lru_cache(maxsize=4)
def _receipt(host: str, ratio: float) -> Content:
    content = ab_content(host, ratio=ratio)
    controls = {control["case"] for control in content["controls"]}
    rows = [row for row in content["rows"] if row["case"]["name"] in {*ROWS, *controls}]
    return {**content, "rows": rows, "status": "partial"}


def receipt(host: str = "h200", ratio: float = 0.99) -> Content:
    return copy.deepcopy(_receipt(host, ratio))


def place(content: Content, name: str) -> int:
    return [row["case"]["name"] for row in content["rows"]].index(name)


def evidence(folder: Path, *contents: Content, names: list[str] | None = None) -> list[str]:
    """Write receipts and the lenient goals; return the options that name both."""
    (folder / "lenient.toml").write_text(LENIENT, encoding="utf-8")
    write_evidence(folder / "evidence", contents, names)
    (folder / "evidence").mkdir(exist_ok=True)
    return ["--goals", str(folder / "lenient.toml"), "--evidence", str(folder / "evidence")]


def report(folder: Path, options: list[str], code: int, *files: Path) -> dict[str, Any]:
    out = folder / "report.json"
    assert run(["goals", *map(str, files), *options, "--json", str(out)]) == code
    made: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return made


def test_goals_that_are_met_exit_with_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = report(tmp_path, evidence(tmp_path, receipt()), 0)
    assert (made["status"], made["device"]) == ("met", "NVIDIA H200")
    assert {line["status"] for line in made["lines"]} == {"met"}
    assert len(made["lines"]) == 1 + 3 + 4
    printed = capsys.readouterr().out
    assert "3 of 3 goals met, 8 of 8 rows of them" in printed
    assert NAME in printed


def test_one_row_that_misses_exits_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = receipt()
    slow = place(content, NAME)
    retime(content["rows"][slow], 1.1, blocks=20)
    made = report(tmp_path, evidence(tmp_path, content), 1)
    assert [line["row"] for line in made["lines"] if line["status"] == "missed"] == [NAME]
    assert "2 of 3 goals met, 7 of 8" in capsys.readouterr().out


def test_rows_in_no_receipt_are_not_measured_and_missed(tmp_path: Path) -> None:
    nothing = report(tmp_path, evidence(tmp_path), 1)
    assert {(line["status"], line["reason"]) for line in nothing["lines"]} == {("not measured", "no receipt has it")}
    content = receipt()
    drop_row(content, place(content, ROWS[2]))
    made = report(tmp_path, evidence(tmp_path, content), 1)
    assert {line["row"] for line in made["lines"] if line["status"] == "not measured"} == {ROWS[2]}


def test_a_row_that_failed_parity_is_not_measured(tmp_path: Path) -> None:
    content = receipt()
    failed = place(content, ROWS[2])
    content["rows"][failed]["parity"][0]["holds"] = False
    fail_parity(content, failed)
    made = report(tmp_path, evidence(tmp_path, content), 1)
    assert {line["reason"] for line in made["lines"] if line["status"] == "not measured"} == {"fails parity"}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda content: content["subjects"].update(contract_sha256="0" * 64), "receipt-stale"),
        (lambda content: content["tool"]["source"].update(dirty=True, dirty_paths=["a.py"]), "tree-dirty"),
        (lambda content: content.update(controls=[]), "control-missing"),
        (lambda content: content["host"].update(id=None), "host-unknown"),
        (lambda content: content["host"].update(id="rtx4090"), "host-contradicts"),
    ],
)
def test_a_receipt_that_does_not_count_meets_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any, code: str
) -> None:
    content = receipt()
    change(content)
    made = report(tmp_path, evidence(tmp_path, content, names=["h200"]), 1)
    assert code in {doubt["code"] for source in made["sources"] for doubt in source["doubts"]}
    assert {(line["status"], line["counted"]) for line in made["lines"]} == {("met", False)}
    printed = capsys.readouterr().out
    assert f"h200.json of promote-oxide does not count: {code}: " in printed
    assert "0 of 3 goals met" in printed
    assert run(["goals", "--markdown", *evidence(tmp_path, content, names=["h200"])]) == 1
    assert "| ratio | 16/4 f16 | – | ⚠ 0.9" in capsys.readouterr().out


def test_receipts_of_other_devices_are_passed_over_in_a_folder_and_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = evidence(tmp_path, receipt(), receipt("rtx4090"))
    assert len(report(tmp_path, options, 0)["sources"]) == 1
    capsys.readouterr()
    assert run(["goals", str(tmp_path / "evidence" / "promote-oxide" / "rtx4090.json"), *options]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "receipt rtx4090.json, device: 'NVIDIA GeForce RTX 4090 (sm_89)' is not allowed" in error
    assert "NVIDIA H200 (sm_90), which the goals lenient are of" in error


def test_a_receipt_that_is_named_may_lie_anywhere_but_only_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = evidence(tmp_path, receipt(), names=["elsewhere"])
    path = tmp_path / "evidence" / "promote-oxide" / "elsewhere.json"
    assert report(tmp_path, options, 0, path)["sources"][0]["file"] == "elsewhere.json"
    assert run(["goals", str(path), str(path), *options]) == 2
    assert "each receipt once" in capsys.readouterr().err


def test_a_receipt_of_another_experiment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = evidence(tmp_path, ab_content("h200", "splitk-vs-naive"))
    assert run(["goals", str(tmp_path / "evidence" / "splitk-vs-naive" / "h200.json"), *options]) == 2
    assert "experiment: 'splitk-vs-naive' is not allowed; allowed: promote-oxide" in capsys.readouterr().err


def test_every_receipt_of_a_row_must_meet_its_goal(tmp_path: Path) -> None:
    other = receipt(ratio=1.1)
    made = report(tmp_path, evidence(tmp_path, receipt(), other, names=["h200", "again"]), 1)
    at = [line for line in made["lines"] if line["goal"] == "ratio" and line["row"] == NAME]
    assert {line["receipt"]: line["status"] for line in at} == {"h200.json": "met", "again.json": "missed"}


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "diffcheck-ab/1"}', "\x00"])
def test_a_file_that_is_no_receipt_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    options = evidence(tmp_path, receipt())
    path = tmp_path / "evidence" / "promote-oxide" / "broken.json"
    path.write_text(text, encoding="utf-8")
    for arguments in (["goals", *options], ["goals", str(path), *options]):
        assert run(arguments) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_an_import_is_passed_over(tmp_path: Path) -> None:
    options = evidence(tmp_path, receipt())
    imported = tmp_path / "evidence" / "promote-oxide" / "imported.json"
    imported.write_text('{"schema": "diffcheck-imported/1"}', encoding="utf-8")
    assert report(tmp_path, options, 0)["status"] == "met"


def test_without_a_folder_of_evidence_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["goals", "--evidence", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("diffcheck: evidence: ")
    assert run(["goals", "--goals", "h201"]) == 2
    assert capsys.readouterr().err == "diffcheck: goals: 'h201' is not allowed; allowed: h200\n"


def test_markdown_has_a_column_a_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["goals", "--markdown", *evidence(tmp_path, receipt())]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    assert ["goal", "rows", "peer", "4,096", "8,192", "20,000", "60,000"] in rows
    found = {tuple(row[:3]): row[3:] for row in rows}
    assert found["floor", "16/4 f16", "–"][:2] == ["–", "–"]
    assert all("≤" in cell for cell in found["floor", "16/4 f16", "–"][2:])
    assert all(re.fullmatch(r"0\.9\d+–0\.9\d+", cell) for cell in found["ratio", "16/4 f16", "–"])
    assert lines[-1] == "3 of 3 goals met, 8 of 8 rows of them"


def test_markdown_marks_what_is_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = receipt()
    slow = content["rows"][place(content, NAME)]
    retime(slow, 1.1, blocks=20)
    drop_row(content, place(content, ROWS[1]))
    assert run(["goals", "--markdown", *evidence(tmp_path, content)]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ratio | 16/4 f16")]
    cells = [cell.strip() for cell in line.strip("|").split("|")][3:]
    assert [cell.startswith("✗") for cell in cells] == [False, True, False, True]
    assert cells[1] == "✗ not measured"
