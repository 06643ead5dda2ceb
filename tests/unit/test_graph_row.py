"""Which graphs a row has, over which places, and how many calls; the device is a recorder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from diffcheck.ab import gpu_row, graph_row
from diffcheck.ab.bench import BASELINE, BASELINE_AGAIN, CANDIDATE, EMPTY, planted
from diffcheck.ab.gpu_row import GpuRow, GpuSettings, Sided
from diffcheck.ab.graph_row import GraphRow
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError
from diffcheck.executors.program import Program
from diffcheck.parity.prepare import Prepared
from diffcheck.receipts.cases import PlanFacts
from diffcheck.receipts.metrics import Check
from diffcheck.timing.graph import Captured, Timed
from diffcheck.timing.run import Candidate
from diffcheck.timing.sets import L2_MULTIPLE

CASE = Case("small", 8, 2, 64, "f16", "random", "bound")
SETS = 3
L2_BYTES = SETS * CASE.kv_bytes // L2_MULTIPLE


class FailedError(Exception):
    """As CuPy raises."""


class Device:
    """Places, programs and graphs as strings: `slow` is a call's time by the program's name."""

    def __init__(self, slow: Mapping[str, float]) -> None:
        self.slow = slow
        self.placed = 0
        self.made: list[str] = []
        self.captured: list[tuple[str, int]] = []
        self.fails = False

    def place(self) -> dict[str, Any]:
        self.placed += 1
        return dict.fromkeys(self.slow, f"place {self.placed}")

    def queued(self, program: Any, sets: Any) -> Any:
        self.made.append(f"{program} at {sets}")
        return lambda call: None

    def floors(self, case: Case, program: Any, sets: Any, target: str) -> list[Candidate]:
        self.made.append(f"floors of {program} at {sets}")
        timed = [Timed(name, lambda call: None) for name in ("empty", "read only, 1 blocks")]
        return [Candidate("floor", "nothing", "", timed[0], None), Candidate("floor", "K and V", "", timed[1], 1)]

    def capture(self, thing: Timed, calls: int) -> Captured:
        self.captured.append((thing.name, calls))
        return Captured(thing.name, calls, (thing.name, calls))

    def replay(self, graph: Captured) -> float:
        if self.fails:
            raise FailedError("illegal address")
        name, calls = graph.graph
        return float(calls * self.slow.get(name, 1.0))


def device_on(monkeypatch: pytest.MonkeyPatch, slow: Mapping[str, float]) -> Device:
    device = Device(slow)
    cuda = SimpleNamespace(
        memory=SimpleNamespace(OutOfMemoryError=MemoryError),
        driver=SimpleNamespace(CUDADriverError=FailedError),
        runtime=SimpleNamespace(CUDARuntimeError=FailedError),
    )
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool))
    monkeypatch.setattr(graph_row, "Arena", lambda *_given: device)
    monkeypatch.setattr(graph_row, "queued_calls", device.queued)
    monkeypatch.setattr(graph_row, "floor_candidates", device.floors)
    monkeypatch.setattr(graph_row, "capture", device.capture)
    monkeypatch.setattr(graph_row, "replay_us", device.replay)
    monkeypatch.setattr(gpu_row, "capture", device.capture)
    return device


def row_on(
    monkeypatch: pytest.MonkeyPatch, slow: Mapping[str, float], programs: bool = True, parts: int = 1
) -> tuple[GraphRow, Device]:
    device = device_on(monkeypatch, slow)
    given = {name: cast(Program, f"program {name}") for name in slow} if programs else {}
    return GraphRow(CASE, given, "sm_90", L2_BYTES, parts=parts), device


# 4,000 µs of the fastest, rounded up to passes over the copies, or to passes that the parts divide.
@pytest.mark.parametrize(
    ("slow", "parts", "calls"),
    [
        ({"a": 8.0, "b": 4.0}, 1, 1002),
        ({"a": 8.0, "b": 4.0}, 50, 1050),
        ({"a": 100.0}, 50, 42),
        ({"a": 1e9}, 1, SETS),
    ],
)
def test_a_graph_has_whole_passes_and_parts_for_the_fastest(
    monkeypatch: pytest.MonkeyPatch, slow: dict[str, float], parts: int, calls: int
) -> None:
    row, _ = row_on(monkeypatch, slow, parts=parts)
    assert (row.buffer_sets, row.calls) == (SETS, calls)


def test_every_fresh_graph_is_over_new_places(monkeypatch: pytest.MonkeyPatch) -> None:
    row, device = row_on(monkeypatch, {"a": 8.0, "b": 4.0})
    device.made.clear()
    assert [replay() for replay in row.fresh(["b", "a", "empty", "read only, 1 blocks", "b"])] == [4.0, 8.0, 1, 1, 4.0]
    row.fresh(["a"])
    again = ["program b at place 2", "program a at place 2", "floors of program a at place 2", "program a at place 3"]
    assert device.made == again
    assert row.read_floors() == (("read only, 1 blocks", "K and V"),)


def ab_row(monkeypatch: pytest.MonkeyPatch, baseline_us: float, candidate_us: float) -> tuple[GpuRow, Device]:
    """A row of an A/B whose sides take so long a call."""
    times = {BASELINE: baseline_us, BASELINE_AGAIN: baseline_us, CANDIDATE: candidate_us}
    device = device_on(monkeypatch, times)
    key = "splitk/1|h200|one-wave|chunk=64|w8r4v8"
    plan = PlanFacts(key=key, profile="h200", policy="one-wave", chunk=64, n_splits=1, tile="w8r4")
    program = SimpleNamespace(steps=[SimpleNamespace(entry="partial")])
    sides = tuple(Sided(arm, cast(Program, program), plan, digit * 64) for arm, digit in (("naive", "1"), ("b", "2")))
    holds = Check(name="memory", a="naive", b="contract", holds=True, reason="", compared=1)
    prepared = cast(Prepared, SimpleNamespace(case=CASE))
    row = GpuRow(prepared, (sides[0], sides[1]), (holds,), GpuSettings("sm_90", L2_BYTES))
    device.captured.clear()
    return row, device


# With three copies and 4 µs a call of the fastest: 1050 calls, which 50 and 3 divide; 1050 of 4 µs are 42 of 100.
@pytest.mark.parametrize(("times", "calls"), [((4.4, 4.0), (1050, 1050)), ((100.0, 4.0), (42, 1050))])
def test_sides_that_are_far_apart_have_their_own_numbers_of_calls(
    monkeypatch: pytest.MonkeyPatch, times: tuple[float, float], calls: tuple[int, int]
) -> None:
    row, device = ab_row(monkeypatch, *times)
    assert (row.baseline.calls, row.candidate.calls) == calls
    replays = row.fresh([BASELINE, CANDIDATE, BASELINE_AGAIN, EMPTY])
    expected = [(BASELINE, calls[0]), (CANDIDATE, calls[1]), (BASELINE_AGAIN, calls[0]), (EMPTY, 1050)]
    assert device.captured == expected
    assert [replay() for replay in replays[:3]] == pytest.approx([times[0], times[1], times[0]])


@pytest.mark.parametrize(
    ("times", "percent", "calls"),
    [((4.0, 4.0), 2.0, 1050), ((4.0, 4.0), 10.0, 1050), ((100.0, 4.0), 2.0, 150), ((100.0, 4.0), 10.0, 60)],
)
def test_both_sides_of_a_planted_control_have_as_many_calls(
    monkeypatch: pytest.MonkeyPatch, times: tuple[float, float], percent: float, calls: int
) -> None:
    row, device = ab_row(monkeypatch, *times)
    plain, more = (replay() for replay in row.fresh([BASELINE, planted(percent)]))
    share = 1.0 + percent / 100.0
    assert device.captured == [(BASELINE, calls), (BASELINE, round(calls * share))]
    assert more / plain == pytest.approx(share)


def test_without_programs_there_are_no_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    row, device = row_on(monkeypatch, {"a": 8.0}, programs=False)
    assert (device.placed, device.made, row.calls) == (0, [], 1)
    assert row.read_floors() == ()


def test_a_device_that_fails_is_named_by_row_and_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    row, device = row_on(monkeypatch, {"a": 8.0})
    (replay,) = row.fresh(["a"])
    device.fails = True
    with pytest.raises(DiffcheckError, match="row small, a: the GPU failed \\(illegal address\\)"):
        replay()
    row.close()
    assert row.read_floors() == ()


def test_a_kernel_is_made_ready_once_for_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[tuple[str, ...]] = []

    def ready(function: str, step: SimpleNamespace) -> Any:
        done.append(("ready", function))
        return lambda given: done.append((function, *given))

    module = SimpleNamespace(get_function=lambda entry: f"function {entry}")
    monkeypatch.setattr(graph_row, "load_module", lambda _ptx: module)
    monkeypatch.setattr(graph_row, "ready", ready)
    monkeypatch.setattr(graph_row, "arguments", lambda step, bases: (f"{step.entry} at {bases}",))
    steps = tuple(SimpleNamespace(entry=entry) for entry in ("partial", "reduce"))
    program = cast(Program, SimpleNamespace(ptx="text", steps=steps))
    enqueue = graph_row.queued_calls(program, cast(Any, SimpleNamespace(bases=("first", "second"))))
    assert done == [("ready", "function partial"), ("ready", "function reduce")]
    done.clear()
    for call in range(3):
        enqueue(call)
    places = ["first", "second", "first"]
    assert done == [(f"function {kind}", f"{kind} at {place}") for place in places for kind in ("partial", "reduce")]
