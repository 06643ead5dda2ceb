"""Take turns between two sides until the ratio is known well enough."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from diffcheck.ab.bench import Replayed
from diffcheck.ab.nvml import Monitor
from diffcheck.ab.pace import Pace
from diffcheck.ab.schedule import Order, balanced_orders
from diffcheck.ab.stats import CONFIDENCE, ratio_interval
from diffcheck.ab.stopping import BLOCKS_BETWEEN_LOOKS, Stop, enough
from diffcheck.experiment.model import Budget
from diffcheck.receipts.ab.samples import Block, Comparison, Interval, Reading, Replay, Side

HARD_REASONS = frozenset(
    {"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sync_boost"}
)
"""Reasons that strike at a moment and so one side more than the other: a block that meets one is dropped. The power cap
(`sw_power_cap`) is not among them: sustained streaming meets it on both sides alike, and a run waits for its end."""
WARM_UP = 2
"""Blocks that are replayed before the first that counts."""


@dataclass
class Sampler:
    """Samples one pair of sides.

    `fresh(names)` returns what replays a new graph of each name once and returns microseconds a call (see `RowBench`).
    """

    fresh: Callable[[Sequence[str]], Sequence[Replayed]]
    monitor: Monitor
    budget: Budget
    pace: Pace = field(default_factory=Pace)

    def compare(self, names: Mapping[Side, str], seed: int, confidence: float = CONFIDENCE) -> Comparison:
        """Run blocks of the two named things until the budget says that it is enough.

        `seed` decides the order of the sides and the bootstrap.
        """
        orders = balanced_orders(np.random.default_rng(seed))
        for _ in range(WARM_UP):
            for replay in self.fresh([names[side] for side in next(orders)]):
                replay()
            self.pace.rest(self.monitor)
        blocks: list[Block] = []
        started = self.pace.clock()
        while True:
            for _ in range(min(BLOCKS_BETWEEN_LOOKS, self.budget.max_blocks - len(blocks))):
                blocks.append(self._block(names, next(orders)))
                self.pace.rest(self.monitor)
            stop, interval = self._look(blocks, seed, confidence, self.pace.clock() - started)
            if stop is not None and interval is not None:
                return _comparison(blocks, interval, stop)

    def _look(
        self, blocks: list[Block], seed: int, confidence: float, seconds: float
    ) -> tuple[Stop | None, Interval | None]:
        used = [block for block in blocks if block.dropped is None]
        # With fewer than two nothing can be said yet.
        interval = ratio_interval(used, seed, confidence) if len(used) > 1 else None
        stop = enough(len(used), interval, self.budget, blocks=len(blocks), seconds=seconds)
        if stop is not None and interval is None:
            raise ThrottledError(blocks[-1].dropped or "")
        return stop, interval

    def _block(self, names: Mapping[Side, str], order: Order) -> Block:
        graphs = self.fresh([names[side] for side in order])
        replays: list[Replay] = []
        readings = [self.monitor.read()]
        for side, replay in zip(order, graphs, strict=True):
            replays.append(Replay(side=side, us=replay()))
            readings.append(self.monitor.read())
        return Block(replays=tuple(replays), readings=tuple(readings), dropped=why_dropped(readings))


class ThrottledError(Exception):
    """A device whose clock was held down for as long as it was sampled; its text is the reason."""


def why_dropped(readings: Sequence[Reading]) -> str | None:
    """Return the first hard reason for a lowered clock among a block's readings, or None."""
    met = {reason for reading in readings for reason in reading.throttle or ()} & HARD_REASONS
    return f"throttled: {', '.join(sorted(met))}" if met else None


def _comparison(blocks: list[Block], interval: Interval, stop: Stop) -> Comparison:
    used = [block for block in blocks if block.dropped is None]
    sides: tuple[Side, Side] = ("baseline", "candidate")
    medians = [statistics.median([us for block in used for us in block.times(side)]) for side in sides]
    return Comparison(
        blocks=tuple(blocks),
        dropped_blocks=len(blocks) - len(used),
        baseline_us=medians[0],
        candidate_us=medians[1],
        ratio=interval,
        stop=stop,
    )
