"""Faults of timing and evidence: what others let pass, offered to the A/B, its receipts and the verdict."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typing_extensions import Self

from diffcheck.ab.bench import BASELINE, CANDIDATE, EMPTY
from diffcheck.ab.merge import Earlier
from diffcheck.ab.pace import Pace
from diffcheck.ab.run import Asked, Run, facts_of
from diffcheck.arms import BuilderArm
from diffcheck.cases import get_case
from diffcheck.decide.collect import read_content_as_found
from diffcheck.decide.model import Decision
from diffcheck.decide.reasons import Code
from diffcheck.decide.verdict import decide
from diffcheck.executors.machine import MachineExecutor
from diffcheck.executors.program import Outcome, Program
from diffcheck.experiment.load import load_hosts, load_policy
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.selftest.model import SelfTestNotRun
from diffcheck.subjects.tree import TreeHashes
from diffcheck.timing.graph import Timed, capture, replay_us
from tests.factory.ab import Content, ab_content, check, fail_parity, retime, sealed, small_experiment
from tests.factory.bench import FormulaBench
from tests.faults.support import assert_holds

BUDGET = {"interval_width": 0.02, "seconds_per_row": 60.0, "min_blocks": 4, "max_blocks": 12}
SMALL = small_experiment(budget=BUDGET)


def measured(folder: Path, replays: list[str] | None = None, peak: float = 4.8e12) -> AbReceipt:
    """Run the experiment with two rows on the device of formulas; `replays` takes the names of its graphs."""
    facts = HostFacts.model_validate({**ab_content("h200", SMALL)["host"], "peak_memory_bytes_per_second": peak})
    bench = FormulaBench(facts, on_replay=(lambda _: None) if replays is None else replays.append)
    ticks = itertools.count(0.0, 0.01)
    pace = Pace(0.0, lambda _: None, lambda: next(ticks))
    reason = SelfTestNotRun(reason="not asked for")
    asked = Asked(SMALL, "h200", (), ("ab",), folder / "h200.json", pace, reason)
    return Run(bench, asked, facts_of(bench, asked), Earlier()).measure(lambda _: None)[0]


def decided(*contents: Content) -> Decision:
    """Decide the experiment with two rows from receipts as JSON types."""
    found = [read_content_as_found(sealed(content), content["host"]["id"]) for content in contents]
    assert all(one.receipt for one in found), [one.message for one in found]
    return decide(found, SMALL.content, load_policy("kernel-001"), load_hosts(), TreeHashes())


def required() -> list[Content]:
    return [ab_content("rtx4090", SMALL), ab_content("gb10", SMALL)]


def test_a_rate_above_the_memorys_is_flagged_and_not_judged(tmp_path: Path) -> None:
    receipt = measured(tmp_path, peak=1.0e12)
    assert [row.above_peak for row in receipt.rows] == [True, True]
    assert any("faster than the memory's peak allows" in warning for warning in receipt.warnings)
    assert all(row.rotated_bytes == row.buffer_sets * row.kv_bytes for row in receipt.rows)
    fast, other = required()
    fast["host"]["peak_memory_bytes_per_second"] = 1.0e12
    for row in fast["rows"]:
        row["above_peak"] = True
    decision = decided(fast, other)
    assert decision.verdict == "HOLD"
    assert {Code.ABOVE_PEAK, Code.SPEED_UNTRUSTED} <= {reason.code for reason in decision.reasons}


def recording(note: Callable[[str], None]) -> types.ModuleType:
    """Return a stand-in for CuPy whose streams, graphs and events say what they are asked for, in order."""

    class Graph:
        def launch(self, *_: object) -> None:
            note("launch")

    class Stream:
        def __init__(self, **_: object) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def begin_capture(self) -> None:
            note("begin")

        def end_capture(self) -> Graph:
            note("end")
            return Graph()

        def synchronize(self) -> None:
            note("synchronize")

    class Event:
        def record(self, *_: object) -> None:
            note("record")

        def synchronize(self) -> None:
            note("synchronize")

    cupy: Any = types.ModuleType("cupy")
    cupy.cuda = types.SimpleNamespace(Stream=Stream, Event=Event, get_elapsed_time=lambda _start, _end: 1.0)
    made: types.ModuleType = cupy
    return made


def test_nothing_waits_between_the_calls_that_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setitem(sys.modules, "cupy", recording(asked.append))
    graph = capture(Timed("arm", lambda call: asked.append(f"call {call}")), 3)
    assert asked == ["begin", "call 0", "call 1", "call 2", "end"]
    asked.clear()
    assert replay_us(graph) == 1000.0
    # Between the two events that are subtracted there is the graph and nothing else.
    assert asked == ["record", "launch", "record", "synchronize"]


def test_the_time_of_an_empty_kernel_is_in_every_row(tmp_path: Path) -> None:
    for row in measured(tmp_path).rows:
        (empty,) = [floor for floor in row.floors if floor.name == "empty"]
        assert empty.samples_us
        assert row.timing is not None
        assert empty.median_us < row.timing.baseline_us


def test_clocks_stand_beside_every_replay(tmp_path: Path) -> None:
    receipt = measured(tmp_path)
    timings = [row.timing for row in receipt.rows] + [control.timing for control in receipt.controls]
    for timing in timings:
        assert timing is not None
        for block in timing.blocks:
            assert len(block.readings) == len(block.replays) + 1
            assert {(reading.sm_mhz, reading.memory_mhz) for reading in block.readings} == {(1980, 3201)}


@pytest.mark.parametrize("empty", ["rows", "blocks", "replays"])
def test_a_result_without_samples_is_an_error(empty: str) -> None:
    content = ab_content("h200", SMALL)
    if empty == "rows":
        content["rows"] = []
    elif empty == "blocks":
        content["rows"][0]["timing"]["blocks"] = []
    else:
        content["rows"][0]["timing"]["blocks"][0]["replays"] = []
    with pytest.raises(ValidationError, match=empty):
        AbReceipt.model_validate(content)


def test_each_side_goes_first_as_often_as_the_other(tmp_path: Path) -> None:
    for row in measured(tmp_path).rows:
        assert row.timing is not None
        orders = [block.order for block in row.timing.blocks]
        assert orders.count("ABBA") == orders.count("BAAB") == len(orders) / 2


def test_an_arm_against_itself_that_differs_holds_the_verdict_back() -> None:
    biased, other = required()
    a_a = next(control for control in biased["controls"] if control["kind"] == "a/a")
    retime(a_a, 1.02)
    a_a["passed"] = False
    decision = decided(biased, other)
    assert decision.verdict == "HOLD"
    assert Code.CONTROL_FAILED in {reason.code for reason in decision.reasons}


def test_both_arms_take_turns_in_one_run_and_their_compilers_are_recorded(tmp_path: Path) -> None:
    replays: list[str] = []
    receipt = measured(tmp_path, replays)
    # Of the first row, before its floors.
    timed = replays[: replays.index(EMPTY)]
    assert set(timed) == {BASELINE, CANDIDATE}
    # Two in a block, or one at its end and one at the next one's start, which may be of the same order as the last.
    assert max(len(list(same)) for _, same in itertools.groupby(timed)) == 2
    assert len(receipt.parts) == 1
    assert receipt.cuda_oxide_commit
    assert {ptx.arm for ptx in receipt.subjects.ptx} == {"builder", "oxide"}
    assert receipt.host.cuda_driver
    assert receipt.host.cuda_runtime


class Idle(MachineExecutor):
    """A machine that says that it ran a program, and does not."""

    def run(self, program: Program) -> Outcome:
        memory = {region.buffer.name: region.buffer.raw.copy() for region in program.regions()}
        out = program.outputs.out
        return Outcome(out.over(memory[out.buffer.name]), memory, 0.0)


def test_an_output_that_no_kernel_wrote_fails() -> None:
    case = get_case("random-8x2-L65-f16")
    with pytest.raises(AssertionError, match="memory: builder"):
        assert_holds(case, Idle(1), (BuilderArm(),))
    assert_holds(case, MachineExecutor(1), (BuilderArm(),))


def test_a_perfect_cosine_saves_no_wrong_row() -> None:
    wrong, other = required()
    row = wrong["rows"][0]
    failing = check("oracle", "oxide", "oracle", holds=False)
    assert failing["whole"]["cosine"] == 1.0
    row["parity"] = [one for one in row["parity"] if (one["name"], one["a"]) != ("oracle", "oxide")] + [failing]
    fail_parity(wrong)
    decision = decided(wrong, other)
    assert decision.verdict == "REJECT"
    assert Code.BOUND_EXCEEDED in {reason.code for reason in decision.reasons}
