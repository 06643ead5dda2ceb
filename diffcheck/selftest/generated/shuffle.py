"""Which lane each lane of a warp takes its value from in a shuffle (PTX ISA, `shfl.sync`)."""

from __future__ import annotations

LANES = 32


def sources(mnemonic: str, operands: tuple[str, ...]) -> tuple[int, ...]:
    """Return the lane from which each of the 32 lanes takes its value, for all of them taking part.

    `operands` are the shuffle's: result, value, lane, limits, lanes that take part. Raises `ValueError` where lane or
    limits are no constants.
    """
    mode = next(part for part in mnemonic.split(".") if part in ("up", "down", "bfly", "idx"))
    distance, limits = int(operands[2]), int(operands[3])
    return tuple(_source(mode, lane, distance & 31, limits) for lane in range(LANES))


def _source(mode: str, lane: int, distance: int, limits: int) -> int:
    clamp, segment = limits & 31, limits >> 8 & 31
    last = (lane & segment) | (clamp & ~segment)
    if mode == "up":
        wanted = lane - distance
        return wanted if wanted >= last else lane
    first = lane & segment
    wanted = {"down": lane + distance, "bfly": lane ^ distance, "idx": first | (distance & ~segment)}[mode]
    return wanted if wanted <= last else lane
