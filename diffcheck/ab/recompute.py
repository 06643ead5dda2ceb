"""Whether the intervals of a receipt follow from its samples: a number that was edited with a new digest shows here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from diffcheck.ab.plausible import arms_beside, misfits
from diffcheck.ab.run import SEED
from diffcheck.ab.sampler import WARM_UP, why_dropped
from diffcheck.ab.schedule import balanced_orders
from diffcheck.ab.stats import CONFIDENCE, CONTROL_CONFIDENCE, ratio_interval
from diffcheck.ab.stopping import BLOCKS_BETWEEN_LOOKS
from diffcheck.experiment.model import Budget
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.samples import Block, Comparison, Interval, letters

Samples = tuple[float, ...]

# Logarithms and exponentials may differ in the last place from one machine to the next. A seed gives the same draws
# with every numpy that is allowed, from 2.0 on: there is nothing else in which an interval may differ.
ROUNDING = 1e-9
# Events tell so few times of an empty graph apart that two replays of one may well be equal to two of another.
_FEW = 2


@dataclass(frozen=True)
class _Timed:
    """A comparison with what a run would have made it with."""

    name: str
    """Of its row."""
    what: str
    timing: Comparison
    confidence: float
    seed: int


def contradictions(receipt: AbReceipt) -> list[tuple[str, str]]:
    """Return the rows and controls that contradict their samples: the row's name, and in one line what is wrong."""
    budget = receipt.experiment.content.budget
    found: list[tuple[str, str]] = []
    for one in _timed(receipt):
        # How many there are comes first: the interval of more than any run takes would cost as much as it likes.
        message = (
            _too_many(one.timing, budget)
            or _wrong_seed(one)
            or contradiction(one.timing, one.confidence)
            or _ended_wrongly(one.timing, budget)
        )
        if message:
            found.append((one.name, message))
    return [*found, *_twice(receipt), *misfits(receipt)]


def _timed(receipt: AbReceipt) -> list[_Timed]:
    """Return every comparison of a receipt; seeds as `ab/run.py` and `ab/rows.py` give them, in every part alike."""
    places = {row.name: place for place, row in enumerate(experiment_rows(receipt.experiment.content))}
    seeds = {name: SEED + 10 * place for name, place in places.items()}
    timed = [
        _Timed(row.case.name, row.case.name, row.timing, CONFIDENCE, seeds[row.case.name])
        for row in receipt.rows
        if row.timing is not None
    ]
    for one in receipt.controls:
        level, more = (CONTROL_CONFIDENCE, 1) if one.kind == "a/a" else (CONFIDENCE, 2)
        timed.append(_Timed(one.case, f"a control on {one.case}", one.timing, level, seeds[one.case] + more))
    return timed


@dataclass(frozen=True)
class Sampled:
    """What was timed at one time, in order: no two of many samples are equal by chance."""

    name: str
    """Of its row."""
    what: str
    samples: Samples


def sampled(receipt: AbReceipt) -> list[Sampled]:
    """Return all that a receipt has samples of, but for what has so few that chance can make them equal."""
    found = [Sampled(one.name, one.what, samples_of(one.timing)) for one in _timed(receipt)]
    for row in receipt.rows:
        name = row.case.name
        found += [Sampled(name, f"the {floor.name} floor of {name}", floor.samples_us) for floor in row.floors]
        found += [Sampled(name, f"{peer.name} on {name}", peer.samples_us) for peer in row.peers]
        shared = dict.fromkeys(map(arms_beside, row.peers))
        found += [Sampled(name, f"the arms beside peers on {name}", us) for us in shared]
    return [one for one in found if len(one.samples) > _FEW]


def samples_of(timing: Comparison) -> Samples:
    """Return every time of a comparison, in order."""
    return tuple(replay.us for block in timing.blocks for replay in block.replays)


def _twice(receipt: AbReceipt) -> Iterator[tuple[str, str]]:
    seen: dict[Samples, str] = {}
    for one in sampled(receipt):
        if one.samples in seen:
            yield one.name, f"the samples of {one.what} are those of {seen[one.samples]}"
        seen.setdefault(one.samples, one.what)


def contradiction(timing: Comparison, confidence: float) -> str:
    """Return in one line how a comparison differs from what its blocks give; empty where it does not.

    `confidence` is that which its interval must have.
    """
    stated, used = timing.ratio, timing.used()
    if stated.confidence != confidence:
        return f"an interval of {stated.confidence:g}, and not of {confidence:g}"
    wrong = _wrong_blocks(timing.blocks, stated.seed)
    if wrong:
        return wrong
    if len(used) < 2:
        return f"an interval of {len(used)} block"
    return differing(stated, ratio_interval(used, stated.seed, stated.confidence))


def differing(stated: Interval, made: Interval) -> str:
    """Return in one line how an interval differs from that which its seed makes of the samples; empty: it does not."""
    if stated.confidence != made.confidence:
        return f"an interval of {stated.confidence:g}, and not of {made.confidence:g}"
    if stated.resamples != made.resamples:
        return f"{stated.resamples} resamples are stated, {made.resamples} are taken"
    for name in ("estimate", "low", "high"):
        a, b = getattr(stated, name), getattr(made, name)
        if not math.isclose(a, b, rel_tol=ROUNDING):
            return f"{name} is stated as {a:.9g}, and the samples give {b:.9g}"
    return ""


def _wrong_seed(one: _Timed) -> str:
    """Return that another seed was taken than a run takes: one can be looked for that gives a better interval."""
    stated = one.timing.ratio.seed
    return "" if stated == one.seed else f"{one.what} has the seed {stated}, and a run takes {one.seed}"


def _wrong_blocks(blocks: Sequence[Block], seed: int) -> str:
    """Return which block ran in another order than the seed draws, or was dropped, or kept, without the reason."""
    drawn = balanced_orders(np.random.default_rng(seed))
    for place, (block, sides) in enumerate(zip(blocks, islice(drawn, WARM_UP, None), strict=False)):
        why = why_dropped(block.readings)
        if (block.dropped is None) != (why is None):
            return f"block {place} is {'kept' if block.dropped is None else 'dropped'}, and its readings say otherwise"
        if block.dropped != why:
            return f"block {place} was dropped for {block.dropped!r}, and its readings say {why!r}"
        order = letters(sides)
        if block.order != order:
            return f"block {place} is {block.order}, and the seed {seed} draws {order}"
    return ""


def _too_many(timing: Comparison, budget: Budget) -> str:
    if len(timing.blocks) <= budget.max_blocks:
        return ""
    return f"{len(timing.blocks)} blocks, and the experiment asks for {budget.max_blocks} at the most"


def _ended_wrongly(timing: Comparison, budget: Budget) -> str:
    used, width = len(timing.used()), timing.ratio.width
    if timing.stop == "narrow" and (width > budget.interval_width * (1.0 + ROUNDING) or used < budget.min_blocks):
        return f"it ended as narrow, with {used} blocks and an interval {width:.2%} wide"
    count = len(timing.blocks)
    if timing.stop == "blocks" and count < budget.max_blocks:
        return f"it ended for the number of blocks, with {count} of {budget.max_blocks}"
    if count % BLOCKS_BETWEEN_LOOKS and count != budget.max_blocks:
        return f"it ended after {count} blocks, and a run looks after every {BLOCKS_BETWEEN_LOOKS}"
    return ""
