"""The device of a sweep: CUDA through CuPy, with the A/B's placement, graphs and floors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from diffcheck.ab.bench import Replayed
from diffcheck.ab.gpu import GpuBench
from diffcheck.ab.gpu_row import GRAPH_US, gpu_errors, queued_calls
from diffcheck.ab.nvml import Monitor
from diffcheck.errors import DiffcheckError
from diffcheck.executors import Executor
from diffcheck.parity.prepare import Prepared
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.timing.arena import Arena
from diffcheck.timing.graph import Captured, Timed, capture, replay_us
from diffcheck.timing.run import Candidate, floor_candidates
from diffcheck.timing.sets import DeviceSets, count_sets
from diffcheck.tune.bench import CheckedVariant


class GpuTuneBench:
    """The current CUDA device. See `TuneBench`.

    Raises `MissingRequirementError` where there is none.
    """

    def __init__(self) -> None:
        self._ab = GpuBench(what="tune")
        self.target = self._ab.target
        self.profile = self._ab.profile
        self.monitor: Monitor = self._ab.monitor
        self.executor: Executor = self._ab.executor
        self.pci_address = self._ab.pci_address

    def host(self) -> HostFacts:
        """Return what a result says of the host; see `TuneBench`."""
        return self._ab.host(None)

    def open_row(self, prepared: Prepared, variants: Sequence[CheckedVariant]) -> GpuTuneRow:
        """Place the variants' buffers; see `TuneBench`."""
        return GpuTuneRow(prepared, variants, self.target, self.host().l2_bytes)


class GpuTuneRow:
    """Graphs of a row's variants. See `TuneRow`."""

    def __init__(self, prepared: Prepared, variants: Sequence[CheckedVariant], target: str, l2_bytes: int) -> None:
        self.buffer_sets = count_sets(prepared.case.kv_bytes, l2_bytes)
        self._case = prepared.case
        self._target = target
        self._programs = {one.variant.name: one.program for one in variants}
        self._sets: dict[str, DeviceSets] = {}
        self._floors: dict[str, Timed] = {}
        self._arena: Arena | None = None
        self.calls = 1
        with gpu_errors(f"row {self._case.name}"):
            # Not from a seed: what lies where also depends on what the driver gives, and two runs must not share it.
            self._arena = Arena(self._programs, self.buffer_sets, np.random.default_rng())
            self._sets = self._arena.place()
            self.calls = self._count()

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        """Place buffers and capture graphs anew; see `TuneRow`."""
        with gpu_errors(f"row {self._case.name}, memory"):
            if self._arena is not None:
                self._sets, self._floors = self._arena.place(), {}
            graphs = [capture(self._thing(name), self.calls) for name in names]
        replays = [partial(self._replay, graph) for graph in graphs]
        for replay in replays:
            replay()
        return replays

    def read_floors(self) -> Sequence[tuple[str, str]]:
        """Return the graphs that only read; see `TuneRow`."""
        with gpu_errors(f"row {self._case.name}, floors"):
            return tuple((one.timed.name, one.detail) for one in self._candidates() if one.kv_bytes is not None)

    def close(self) -> None:
        """Free the row's memory."""
        import cupy

        self._sets, self._floors = {}, {}
        # A device that has failed refuses this, too, and the row has said so already.
        with suppress(DiffcheckError), gpu_errors("memory"):
            self._arena = None
            cupy.get_default_memory_pool().free_all_blocks()

    def _replay(self, graph: Captured) -> float:
        with gpu_errors(f"row {self._case.name}, {graph.name}"):
            return replay_us(graph) / graph.calls

    def _thing(self, name: str) -> Timed:
        if name in self._programs:
            return Timed(name, queued_calls(self._programs[name], self._sets[name]))
        if name not in self._floors:
            # Kept as long as the places: what a floor writes to must live as long as its graph.
            self._floors |= {one.timed.name: one.timed for one in self._candidates()}
        return self._floors[name]

    def _candidates(self) -> list[Candidate]:
        first = next(iter(self._programs))
        return floor_candidates(self._case, self._programs[first], self._sets[first], self._target)

    def _count(self) -> int:
        """Return how many calls every graph has: whole passes over the copies, about `GRAPH_US` for the fastest."""
        least = float("inf")
        for name in self._programs:
            trial = capture(self._thing(name), self.buffer_sets)
            replay_us(trial)
            least = min(least, replay_us(trial) / trial.calls)
        wanted = round(GRAPH_US / max(least, 0.1))
        return -(-wanted // self.buffer_sets) * self.buffer_sets
