"""CUDA graphs of many calls, replayed and timed with events.

Kernels of a few microseconds cannot be timed one by one from the host: a replayed graph launches them back to back on
the device. Calls rotate over sets of buffers larger than the L2 together, so that each reads its data from memory.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

GRAPH_US = 4000.0
"""A graph lasts about this long, so that its own start is a small part of it."""
MIN_CALLS = 20
WARM_UP_REPLAYS = 3


@dataclass(frozen=True)
class Timed:
    """A thing to time: `enqueue(i)` puts call number i on the current stream."""

    name: str
    enqueue: Callable[[int], None]


@dataclass(frozen=True)
class Captured:
    """A graph of `calls` calls."""

    name: str
    calls: int
    graph: Any


def capture(thing: Timed, calls: int) -> Captured:
    """Capture `calls` calls in one graph."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        for call in range(calls):
            thing.enqueue(call)
        graph = stream.end_capture()
    return Captured(thing.name, calls, graph)


def choose_calls(thing: Timed, sets: int) -> int:
    """Return how many calls a graph of this thing takes: a whole number of passes over the sets of buffers."""
    trial = capture(thing, max(sets, MIN_CALLS))
    replay_us(trial)
    each = replay_us(trial) / trial.calls
    return whole_passes(max(MIN_CALLS, GRAPH_US / max(each, 0.1)), sets)


def whole_passes(calls: float, sets: int) -> int:
    """Return the next number of calls that is a whole number of passes over the sets, one at least."""
    return max(1, math.ceil(calls / sets)) * sets


def replay_us(captured: Captured) -> float:
    """Replay a graph once and return its time on the device in microseconds."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record(stream)
    captured.graph.launch(stream)
    end.record(stream)
    end.synchronize()
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1000.0


def sample_interleaved(graphs: Sequence[Captured], rounds: int, pause_s: float) -> dict[str, list[float]]:
    """Replay the graphs in turn, `rounds` times, every other round backwards; return microseconds a call by name.

    In turn and to and fro, so that a drifting clock touches all alike. `pause_s` seconds between rounds keep a device
    from reaching its power limit.
    """
    for captured in graphs:
        for _ in range(WARM_UP_REPLAYS):
            replay_us(captured)
    samples: dict[str, list[float]] = {captured.name: [] for captured in graphs}
    for turn in range(rounds):
        for captured in graphs if turn % 2 == 0 else reversed(graphs):
            samples[captured.name].append(replay_us(captured) / captured.calls)
        time.sleep(pause_s)
    return samples


def spread_percent(samples: Sequence[float]) -> float:
    """Return half the distance between the 10th and 90th percentile, in per cent of the median."""
    if len(samples) < 2:
        return 0.0
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return 50.0 * (tenths[-1] - tenths[0]) / statistics.median(samples)
