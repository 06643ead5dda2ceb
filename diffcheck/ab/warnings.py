"""What a reader of a receipt should know though no number is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.ab.nvml import POWER_CAP
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.receipts.ab.rows import Control, Row
from diffcheck.receipts.ab.samples import Block, Comparison, Side

UNEQUAL = 0.2
"""A cap that one side meets in so many more of its replays than the other was not met alike."""


def warnings_of(rows: Sequence[Row], controls: Sequence[Control], host: HostFacts) -> tuple[str, ...]:
    """Return one line for each thing worth knowing."""
    found: list[str] = []
    timed: list[tuple[str, Comparison]] = [(row.case.name, row.timing) for row in rows if row.timing]
    timed += [(f"control on {control.case}", control.timing) for control in controls]
    for name, timing in timed:
        if timing.dropped_blocks:
            found.append(f"{name}: {timing.dropped_blocks} of {len(timing.blocks)} blocks dropped, throttled")
        if timing.stop != "narrow":
            found.append(f"{name}: sampling ended by {timing.stop}, the interval is {timing.ratio.width:.2%} wide")
        capped = _capped(timing.used())
        if abs(capped["baseline"] - capped["candidate"]) > UNEQUAL:
            found.append(f"{name}: the power cap was met by one side more than by the other")
    found += [f"{row.case.name}: faster than the memory's peak allows" for row in rows if row.above_peak]
    found += [f"control on {control.case}: did not pass" for control in controls if not control.passed]
    if all(block.readings[0].sm_mhz is None for _, timing in timed for block in timing.blocks):
        found.append("no clocks were recorded: NVML is not there or does not support them")
    if host.peak_memory_bytes_per_second is None:
        found.append("the memory's peak is unknown: no time was held against it")
    return tuple(found)


def _capped(blocks: Sequence[Block]) -> dict[Side, float]:
    """Return the part of each side's replays at whose end the power cap was on."""
    counts: dict[Side, list[bool]] = {"baseline": [], "candidate": []}
    for block in blocks:
        for replay, after in zip(block.replays, block.readings[1:], strict=True):
            counts[replay.side].append(POWER_CAP in (after.throttle or ()))
    return {side: sum(met) / len(met) if met else 0.0 for side, met in counts.items()}
