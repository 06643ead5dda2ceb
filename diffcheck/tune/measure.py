"""Time the variants of one kind of call, interleaved, as the A/B times its sides.

Every round has places and graphs of its own, captured in an order that is drawn; the variants are replayed there and
back, so that a drift that is linear over a round touches all alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffcheck.ab.nvml import Monitor
from diffcheck.ab.pace import Pace
from diffcheck.ab.sampler import ThrottledError, why_dropped
from diffcheck.ab.undisturbed import replay_in_turn
from diffcheck.errors import DiffcheckError
from diffcheck.receipts.ab.rows import Floor
from diffcheck.tune.bench import TuneRow
from diffcheck.tune.model import MAX_ROUNDS, MIN_ROUNDS, Round

WARM_UP = 2
FLOOR_ROUNDS = 5


@dataclass(frozen=True)
class Samples:
    """Rounds and, for each variant, two times a round."""

    rounds: tuple[Round, ...]
    us: dict[str, tuple[float, ...]]


def take_rounds(
    monitor: Monitor, row: TuneRow, names: Sequence[str], seconds: float, *, seed: int, pace: Pace
) -> Samples:
    """Run rounds for so many seconds, but no fewer than `MIN_ROUNDS` that count.

    Raises `DiffcheckError` for a device that is throttled all the time.
    """
    rng = np.random.default_rng(seed)
    for _ in range(WARM_UP):
        for replay in row.fresh(_drawn(names, rng)):
            replay()
        pace.rest(monitor)
    rounds: list[Round] = []
    us: dict[str, list[float]] = {name: [] for name in names}
    started = pace.clock()
    while True:
        rounds.append(_round(monitor, row, _drawn(names, rng), us))
        pace.rest(monitor)
        used = sum(one.dropped is None for one in rounds)
        if len(rounds) >= MAX_ROUNDS or (used >= MIN_ROUNDS and pace.clock() - started >= seconds):
            break
    if used < MIN_ROUNDS:
        raise DiffcheckError(f"the device held its clock down all the time ({rounds[-1].dropped})")
    return Samples(tuple(rounds), {name: tuple(times) for name, times in us.items()})


def _drawn(names: Sequence[str], rng: np.random.Generator) -> list[str]:
    return [names[place] for place in rng.permutation(len(names)).tolist()]


def _round(monitor: Monitor, row: TuneRow, order: list[str], us: dict[str, list[float]]) -> Round:
    replays = list(zip(order, row.fresh(order), strict=True))
    before = monitor.read()
    for name, replay in replays:
        us[name].append(replay())
    between = monitor.read()
    for name, replay in reversed(replays):
        us[name].append(replay())
    readings = (before, between, monitor.read())
    return Round(order=tuple(order), readings=readings, dropped=why_dropped(readings))


def read_floors(monitor: Monitor, row: TuneRow, beside: str, pace: Pace) -> tuple[Floor, ...]:
    """Return the fastest of the graphs that only read K and V, replayed in turn with one variant."""
    reads = dict(row.read_floors())
    try:
        samples = replay_in_turn(monitor, pace, FLOOR_ROUNDS, [beside, *reads], row.fresh)
    except ThrottledError as error:
        raise DiffcheckError(f"the device held its clock down all the time ({error})") from error
    best = min(reads, key=lambda name: statistics.median(samples[name]))
    return (
        Floor.model_validate(
            {
                "name": "read",
                "detail": reads[best],
                "samples_us": tuple(samples[best]),
                "median_us": statistics.median(samples[best]),
            }
        ),
    )
