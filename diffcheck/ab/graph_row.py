"""Programs over the same rotating copies of K and V on a CUDA device, placed anew and captured as often as asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from diffcheck.ab.bench import Replayed
from diffcheck.ab.calls import common_calls
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError
from diffcheck.executors.gpu import arguments, load_module, ready
from diffcheck.executors.program import Program
from diffcheck.timing.arena import Arena
from diffcheck.timing.graph import Captured, Timed, capture, replay_us
from diffcheck.timing.run import Candidate, floor_candidates
from diffcheck.timing.sets import DeviceSets, count_sets

if TYPE_CHECKING:
    from collections.abc import Iterator


class GraphRow:
    """What rows of an A/B and of a sweep share: the graphs `fresh`, `read_floors` and `close` of `RowBench`.

    The floors read what the first program reads. Without programs there is nothing to capture. `parts` is as in
    `common_calls`: every graph has as many calls, so that they share what a graph's start costs alike.
    """

    def __init__(
        self, case: Case, programs: Mapping[str, Program], target: str, l2_bytes: int, *, parts: int = 1
    ) -> None:
        self.buffer_sets = count_sets(case.kv_bytes, l2_bytes)
        self.calls = 1
        self._us: dict[str, float] = {}
        self._case = case
        self._programs = programs
        self._target = target
        self._sets: dict[str, DeviceSets] = {}
        self._things: dict[str, Timed] = {}
        self._arena: Arena | None = None
        if programs:
            with gpu_errors(f"row {case.name}"):
                # Not from a seed: what lies where also depends on what the driver gives; no two runs must share it.
                self._arena = Arena(programs, self.buffer_sets, np.random.default_rng())
                self._place(self._arena)
                self._us = {name: self._trial(name) for name in programs}
                self.calls = common_calls(min(self._us.values()), self.buffer_sets, parts)

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        """Place buffers and capture graphs anew; see `RowBench`."""
        with gpu_errors(f"row {self._case.name}, memory"):
            if self._arena is not None:
                self._place(self._arena)
            graphs = [self._captured(name, self._calls_of(name, names)) for name in names]
        replays = [partial(self._replay, graph) for graph in graphs]
        for replay in replays:
            replay()
        return replays

    def read_floors(self) -> Sequence[tuple[str, str]]:
        """Return the graphs that only read; see `RowBench`."""
        with gpu_errors(f"row {self._case.name}, floors"):
            return tuple((floor.timed.name, floor.detail) for floor in self._floors() if floor.kv_bytes is not None)

    def close(self) -> None:
        """Free the row's memory."""
        import cupy

        self._sets, self._things = {}, {}
        # A device that has failed refuses this, too, and the row has said so already.
        with suppress(DiffcheckError), gpu_errors("memory"):
            self._arena = None
            cupy.get_default_memory_pool().free_all_blocks()

    def _calls_of(self, _name: str, _beside: Sequence[str]) -> int:
        """Return how many calls a graph has that is replayed beside others; a row of unlike sides says it here."""
        return self.calls

    def _captured(self, name: str, calls: int) -> Captured:
        """Return a new graph of that name; a row that has others than programs and floors makes them here."""
        return capture(self._thing(name), calls)

    def _replay(self, graph: Captured) -> float:
        with gpu_errors(f"row {self._case.name}, {graph.name}"):
            return replay_us(graph) / graph.calls

    def _place(self, arena: Arena) -> None:
        """Give every buffer a new place."""
        self._sets, self._things = arena.place(), {}

    def _thing(self, name: str) -> Timed:
        """Return what to capture, kept as long as the places: what a floor writes to must live as long as its graph."""
        if name not in self._things:
            if name in self._programs:
                self._things[name] = Timed(name, queued_calls(self._programs[name], self._sets[name]))
            else:
                self._things |= {floor.timed.name: floor.timed for floor in self._floors()}
        return self._things[name]

    def _floors(self) -> list[Candidate]:
        """Return what no program can be faster than, over the buffers as they lie now; none without programs."""
        if not self._sets:
            return []
        first = next(iter(self._programs))
        return floor_candidates(self._case, self._programs[first], self._sets[first], self._target)

    def _trial(self, name: str) -> float:
        """Return about how many microseconds a call of a program takes."""
        trial = capture(self._thing(name), self.buffer_sets)
        replay_us(trial)
        return replay_us(trial) / trial.calls


def queued_calls(program: Program, sets: DeviceSets) -> Callable[[int], None]:
    """Return what queues a call: its arguments are made once a set, as a graph has hundreds of calls."""
    module = load_module(program.ptx)
    starts = [ready(module.get_function(step.entry), step) for step in program.steps]
    launches = [
        [(start, arguments(step, bases)) for start, step in zip(starts, program.steps, strict=True)]
        for bases in sets.bases
    ]

    def enqueue(call: int) -> None:
        for start, given in launches[call % len(launches)]:
            start(given)

    return enqueue


@contextmanager
def gpu_errors(what: str) -> Iterator[None]:
    """Turn what CuPy raises when a device fails, or has no room, into one line."""
    import cupy

    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise DiffcheckError(f"{what}: the GPU has no room for it ({_line(error)})") from error
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        raise DiffcheckError(f"{what}: the GPU failed ({_line(error)})") from error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
