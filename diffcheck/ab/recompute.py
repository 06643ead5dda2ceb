"""Whether the intervals of a receipt follow from its samples: a number that was edited with a new digest shows here."""

from __future__ import annotations

import math
from collections.abc import Sequence

from diffcheck.ab.sampler import why_dropped
from diffcheck.ab.stats import CONFIDENCE, CONTROL_CONFIDENCE, ratio_interval
from diffcheck.ab.stopping import BLOCKS_BETWEEN_LOOKS
from diffcheck.experiment.model import Budget
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.samples import Block, Comparison, Interval

Samples = tuple[float, ...]

# Logarithms and exponentials may differ in the last place from one machine to the next.
ESTIMATE_TOLERANCE = 1e-6
# Of the interval's width. numpy does not promise that a seed gives the same draws in a later version; other draws move
# an end of 2000 resamples by some 2 % of the width, and hardly ever by this much.
END_TOLERANCE = 0.1


def contradictions(receipt: AbReceipt) -> list[tuple[str, str]]:
    """Return the rows and controls that contradict their samples: the row's name, and in one line what is wrong."""
    budget = receipt.experiment.content.budget
    timed = [(row.case.name, row.case.name, row.timing, CONFIDENCE) for row in receipt.rows if row.timing is not None]
    timed += [
        (one.case, f"a control on {one.case}", one.timing, CONTROL_CONFIDENCE if one.kind == "a/a" else CONFIDENCE)
        for one in receipt.controls
    ]
    found: list[tuple[str, str]] = []
    seen: dict[Samples, str] = {}
    for name, what, timing, confidence in timed:
        samples = samples_of(timing)
        # How many there are comes first: the interval of more than any run takes would cost as much as it likes.
        message = _too_many(timing, budget) or contradiction(timing, confidence) or _ended_wrongly(timing, budget)
        if not message and samples in seen:
            message = f"the samples of {what} are those of {seen[samples]}"
        seen.setdefault(samples, what)
        if message:
            found.append((name, message))
    return found


def samples_of(timing: Comparison) -> Samples:
    """Return every time of a comparison, in order: no two of many blocks are equal by chance."""
    return tuple(replay.us for block in timing.blocks for replay in block.replays)


def contradiction(timing: Comparison, confidence: float) -> str:
    """Return in one line how a comparison differs from what its blocks give; empty where it does not.

    `confidence` is that which its interval must have.
    """
    stated, used = timing.ratio, timing.used()
    if stated.confidence != confidence:
        return f"an interval of {stated.confidence:g}, and not of {confidence:g}"
    wrong = _wrong_blocks(timing.blocks)
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
    allowed = END_TOLERANCE * (made.high - made.low)
    for name, distance in (("estimate", 0.0), ("low", allowed), ("high", allowed)):
        a, b = getattr(stated, name), getattr(made, name)
        if not math.isclose(a, b, rel_tol=ESTIMATE_TOLERANCE, abs_tol=distance):
            return f"{name} is stated as {a:.6f}, and the samples give {b:.6f}"
    return ""


def _wrong_blocks(blocks: Sequence[Block]) -> str:
    """Return which block was dropped, or kept, without the reason for it, or breaks the order of sides."""
    for place, block in enumerate(blocks):
        why = why_dropped(block.readings)
        if (block.dropped is None) != (why is None):
            return f"block {place} is {'kept' if block.dropped is None else 'dropped'}, and its readings say otherwise"
        if place % 2 and block.order == blocks[place - 1].order:
            return f"blocks {place - 1} and {place} are both {block.order}, and of every two one is the other way"
    return ""


def _too_many(timing: Comparison, budget: Budget) -> str:
    if len(timing.blocks) < budget.max_blocks + BLOCKS_BETWEEN_LOOKS:
        return ""
    return f"{len(timing.blocks)} blocks, and the experiment asks for {budget.max_blocks} at the most"


def _ended_wrongly(timing: Comparison, budget: Budget) -> str:
    used, width = len(timing.used()), timing.ratio.width
    if timing.stop == "narrow" and (width > budget.interval_width * (1.0 + END_TOLERANCE) or used < budget.min_blocks):
        return f"it ended as narrow, with {used} blocks and an interval {width:.2%} wide"
    if timing.stop == "blocks" and len(timing.blocks) < budget.max_blocks:
        return f"it ended for the number of blocks, with {len(timing.blocks)} of {budget.max_blocks}"
    return ""
