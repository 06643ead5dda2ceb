"""Raw samples, and the intervals that follow from them, apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.experiment.model import Positive
from diffcheck.receipts.fields import Count, Model, Name

Side = Literal["baseline", "candidate"]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Microseconds = Annotated[float, Field(ge=1e-6, le=1e12, allow_inf_nan=False)]
"""From what no clock resolves to days: outside it, ratios and rates would leave the range of numbers."""
Percent = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def letters(sides: Iterable[Side]) -> str:
    """Return sides in order as letters, A being the baseline."""
    return "".join("A" if side == "baseline" else "B" for side in sides)


class Reading(Model):
    """The device's state at one moment, by NVML. A field that the device does not support is null."""

    sm_mhz: Count | None
    memory_mhz: Count | None
    temperature_c: Finite | None
    power_w: Finite | None
    throttle: tuple[Name, ...] | None
    """NVML's reasons for a lowered clock, such as `sw_power_cap`; empty: none."""


class Replay(Model):
    """One replay of a graph."""

    side: Side
    us: Microseconds
    """Microseconds a call: the replay's time on the device over its calls."""


class Block(Model):
    """One balanced block, ABBA or BAAB: a drift that is linear over the block touches both sides alike."""

    replays: tuple[Replay, ...] = Field(min_length=4)
    """In the order they ran."""
    readings: tuple[Reading, ...]
    """One before each replay, and one after the last."""
    dropped: Name | None
    """Why the block takes no part in what is derived; null: it does. A block is whole or not used at all."""

    @model_validator(mode="after")
    def _is_balanced(self) -> Self:
        sides = [replay.side for replay in self.replays]
        if sides != sides[::-1] or 2 * sides.count("baseline") != len(sides):
            raise ValueError(f"replays: {''.join(side[0] for side in sides)} is not balanced as ABBA or BAAB is")
        if len(self.readings) != len(self.replays) + 1:
            raise ValueError(f"readings: {len(self.readings)} of them for {len(self.replays)} replays")
        return self

    @property
    def order(self) -> str:
        """`ABBA` or `BAAB`, A being the baseline."""
        return letters(replay.side for replay in self.replays)

    def times(self, side: Side) -> tuple[float, ...]:
        """Microseconds a call of one side's replays."""
        return tuple(replay.us for replay in self.replays if replay.side == side)


class Interval(Model):
    """A ratio of times, candidate over baseline, with its bootstrap interval over blocks."""

    estimate: Positive
    low: Positive
    high: Positive
    confidence: Annotated[float, Field(ge=0.95, lt=1, allow_inf_nan=False)]
    """0.95 for a 95 % interval; a policy speaks of nothing less."""
    resamples: Annotated[int, Field(ge=1000)]
    seed: Count

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low <= self.estimate <= self.high:
            raise ValueError(f"low, estimate, high: {self.low}, {self.estimate}, {self.high} are not in order")
        return self

    @property
    def width(self) -> float:
        """The interval's width as a part of the estimate."""
        return (self.high - self.low) / self.estimate


class Comparison(Model):
    """Two sides timed against each other."""

    blocks: tuple[Block, ...] = Field(min_length=1)
    """Every block that ran, in order."""
    dropped_blocks: Count
    baseline_us: Microseconds
    """Median over the replays of the blocks that are used."""
    candidate_us: Microseconds
    ratio: Interval
    stop: Literal["narrow", "budget", "blocks"]
    """Why sampling ended: the interval was narrow enough, or the seconds, or the number of blocks, were spent."""

    @model_validator(mode="after")
    def _derived_follows_from_blocks(self) -> Self:
        dropped = sum(block.dropped is not None for block in self.blocks)
        if dropped != self.dropped_blocks:
            raise ValueError(f"dropped_blocks: {self.dropped_blocks} contradicts the blocks, which say {dropped}")
        if dropped == len(self.blocks):
            raise ValueError("blocks: every one was dropped, so nothing can be derived")
        sides: tuple[tuple[Side, float], ...] = (("baseline", self.baseline_us), ("candidate", self.candidate_us))
        for side, stated in sides:
            median = statistics.median([us for block in self.used() for us in block.times(side)])
            if not math.isclose(stated, median, rel_tol=1e-9):
                raise ValueError(f"{side}_us: {stated} contradicts the replays, whose median is {median}")
        return self

    def used(self) -> tuple[Block, ...]:
        """The blocks that were not dropped."""
        return tuple(block for block in self.blocks if block.dropped is None)
