"""One row on a CUDA device: both arms' graphs over the same rotating copies of K and V, placed anew for every block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from diffcheck.ab.bench import BASELINE, BASELINE_AGAIN, CANDIDATE, EMPTY, Replayed, is_planted, planted_share
from diffcheck.ab.peers import OpenPeer, open_peers
from diffcheck.errors import DiffcheckError
from diffcheck.executors.gpu import arguments, load_module, ready
from diffcheck.executors.program import Program
from diffcheck.receipts.ab.rows import ArmRow, PeerRow
from diffcheck.receipts.cases import PlanFacts
from diffcheck.receipts.metrics import Check
from diffcheck.timing.arena import Arena
from diffcheck.timing.graph import Captured, Timed, capture, replay_us
from diffcheck.timing.run import Candidate, floor_candidates
from diffcheck.timing.sets import DeviceSets, count_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from diffcheck.parity.prepare import Prepared

GRAPH_US = 4000.0
"""A graph lasts about this long, so that its own start is a small part of it."""
PLANTED_CALLS = 50
"""Of so many calls, each whole percentage that is planted in steps of 2 % is a whole number."""


@dataclass(frozen=True)
class Sided:
    """One arm's program with what a receipt says of it."""

    arm: str
    program: Program
    plan: PlanFacts
    ptx_sha256: str


@dataclass(frozen=True)
class GpuSettings:
    """What the device is like."""

    target: str
    l2_bytes: int


class GpuRow:
    """Graphs of a row. See `RowBench`."""

    empty_launches = 2

    def __init__(
        self,
        prepared: Prepared,
        sides: tuple[Sided, Sided],
        parity: tuple[Check, ...],
        settings: GpuSettings,
    ) -> None:
        self.parity = parity
        self.kv_bytes = prepared.case.kv_bytes
        self.buffer_sets = count_sets(self.kv_bytes, settings.l2_bytes)
        self._prepared = prepared
        self._sides = sides
        self._target = settings.target
        self._things: dict[str, Timed] = {}
        self._baseline_sets: DeviceSets | None = None
        self._arena: Arena | None = None
        self._calls = 1
        with gpu_errors(f"row {prepared.case.name}"):
            if all(check.holds for check in parity):
                self._arena = self._make_arena()
                self._place(self._arena)
                self._calls = self._count()
            self.baseline = self._arm_row(sides[0])
            self.candidate = self._arm_row(sides[1])

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        """Place buffers and capture graphs anew; see `RowBench`."""
        with gpu_errors(f"row {self._prepared.case.name}, memory"):
            if self._arena is not None:
                self._place(self._arena)
            graphs = [self._captured(name) for name in names]
        replays = [partial(self._replay, graph) for graph in graphs]
        for replay in replays:
            replay()
        return replays

    def _replay(self, graph: Captured) -> float:
        with gpu_errors(f"row {self._prepared.case.name}, {graph.name}"):
            return replay_us(graph) / graph.calls

    def read_floors(self) -> Sequence[tuple[str, str]]:
        """Return the graphs that only read; see `RowBench`."""
        with gpu_errors(f"row {self._prepared.case.name}, floors"):
            return tuple((floor.timed.name, floor.detail) for floor in self._floors() if floor.kv_bytes is not None)

    def open_peers(self, names: Sequence[str]) -> Sequence[OpenPeer | PeerRow]:
        """Prepare other implementations; see `RowBench`."""
        return open_peers(names, self._prepared, self.buffer_sets)

    def close(self) -> None:
        """Free the row's memory."""
        import cupy

        self._things.clear()
        self._baseline_sets = None
        # A device that has failed refuses this, too, and the row has said so already.
        with suppress(DiffcheckError), gpu_errors("memory"):
            self._arena = None
            cupy.get_default_memory_pool().free_all_blocks()

    def _make_arena(self) -> Arena:
        first, second = (side.program for side in self._sides)
        programs = {BASELINE: first, BASELINE_AGAIN: first, CANDIDATE: second}
        # Not from a seed: what lies where also depends on what the driver gives, and two runs must not share it.
        return Arena(programs, self.buffer_sets, np.random.default_rng())

    def _place(self, arena: Arena) -> None:
        """Give every buffer a new place."""
        sets = arena.place()
        first, second = (side.program for side in self._sides)
        self._things = {
            BASELINE: Timed(BASELINE, queued_calls(first, sets[BASELINE])),
            BASELINE_AGAIN: Timed(BASELINE_AGAIN, queued_calls(first, sets[BASELINE_AGAIN])),
            CANDIDATE: Timed(CANDIDATE, queued_calls(second, sets[CANDIDATE])),
        }
        self._baseline_sets = sets[BASELINE]

    def _floors(self) -> list[Candidate]:
        """Return what no arm can be faster than, over the sets of the baseline as they lie now; none without sets."""
        if self._baseline_sets is None:
            return []
        return floor_candidates(self._prepared.case, self._sides[0].program, self._baseline_sets, self._target)

    def _captured(self, name: str) -> Captured:
        if is_planted(name):
            # What is replayed has more calls than it is counted for: each counted call carries so much more work.
            more = capture(self._things[BASELINE], self._calls + int(self._calls * planted_share(name)))
            return Captured(name, self._calls, more.graph)
        if name not in self._things:
            # Kept like the arms: what a floor writes to must live as long as its graph.
            floors = self._floors()
            self._things |= {EMPTY if one.kv_bytes is None else one.timed.name: one.timed for one in floors}
        return capture(self._things[name], self._calls)

    def _count(self) -> int:
        """Return how many calls every graph of the row has: what a graph's start costs is then shared out alike.

        Whole passes over the copies, of which a planted share is a whole number, that last about `GRAPH_US` for the
        faster side.
        """
        wanted = 1
        for name in (BASELINE, CANDIDATE):
            trial = capture(self._things[name], self.buffer_sets)
            replay_us(trial)
            each = replay_us(trial) / trial.calls
            wanted = max(wanted, round(GRAPH_US / max(each, 0.1)))
        unit = math.lcm(PLANTED_CALLS, self.buffer_sets)
        unit = unit if wanted >= unit // 2 else self.buffer_sets
        return -(-wanted // unit) * unit

    def _arm_row(self, side: Sided) -> ArmRow:
        return ArmRow(
            arm=side.arm,
            plan=side.plan,
            ptx_sha256=side.ptx_sha256,
            entries=tuple(step.entry for step in side.program.steps),
            calls=self._calls,
        )


def queued_calls(program: Program, sets: DeviceSets) -> Callable[[int], None]:
    """Return what queues a call: its arguments are made once a set, as a graph has hundreds of calls."""
    module = load_module(program.ptx)
    functions = [module.get_function(step.entry) for step in program.steps]
    launches = [
        [
            (ready(function, step), arguments(step, bases))
            for function, step in zip(functions, program.steps, strict=True)
        ]
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
