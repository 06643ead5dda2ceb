"""Which graphs a row has, over which places, and how many calls; the device is a recorder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from diffcheck.ab import graph_row
from diffcheck.ab.graph_row import GraphRow
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError
from diffcheck.executors.program import Program
from diffcheck.timing.graph import Captured, Timed
from diffcheck.timing.run import Candidate

CASE = Case("small", 8, 2, 64, "f16", "random", "bound")
L2_BYTES = CASE.kv_bytes
SETS = 3


class FailedError(Exception):
    """As CuPy raises."""


class Device:
    """Places, programs and graphs as strings: `slow` is a call's time by the program's name."""

    def __init__(self, slow: Mapping[str, float]) -> None:
        self.slow = slow
        self.placed = 0
        self.made: list[str] = []
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
        return Captured(thing.name, calls, None)

    def replay(self, graph: Captured) -> float:
        if self.fails:
            raise FailedError("illegal address")
        return graph.calls * self.slow.get(graph.name, 1.0)


def row_on(
    monkeypatch: pytest.MonkeyPatch, slow: Mapping[str, float], programs: bool = True, parts: int = 1
) -> tuple[GraphRow, Device]:
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
