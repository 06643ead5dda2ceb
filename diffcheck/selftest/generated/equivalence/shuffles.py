"""Shuffles that take the same lanes by other words."""

from __future__ import annotations

from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.population import GeneratedMutant
from diffcheck.selftest.generated.ptx_text import Statement, split_operands

_OPERATORS = ("shuffle-mode", "shuffle-lane", "shuffle-segment")
LANES = 32


@rule("same lanes")
def same_lanes(mutant: GeneratedMutant) -> bool:
    """Before and after the change, each of the 32 lanes takes the value of the same lane.

    With constant lane and segment operands the source of each lane follows from the definition of `shfl.sync` (PTX
    ISA, "Data Movement and Conversion: shfl.sync"), and is compared for all 32.
    """
    if mutant.operator.name not in _OPERATORS or not _constant(mutant.statement):
        return False
    mnemonic, _, operands = mutant.change.text.removeprefix(mutant.statement.prefix).rstrip(";").partition(" ")
    changed = split_operands(operands)
    before = sources(mutant.statement.mnemonic, mutant.statement.operands)
    return before == sources(mnemonic, changed)


def _constant(statement: Statement) -> bool:
    return all(operand.isdigit() for operand in statement.operands[2:4])


def sources(mnemonic: str, operands: tuple[str, ...]) -> tuple[int, ...]:
    """Return the lane from which each of the 32 lanes takes its value."""
    mode = next(part for part in mnemonic.split(".") if part in ("up", "down", "bfly", "idx"))
    return tuple(_source(mode, lane, int(operands[2]) & 31, int(operands[3])) for lane in range(LANES))


def _source(mode: str, lane: int, distance: int, limits: int) -> int:
    clamp, segment = limits & 31, limits >> 8 & 31
    last = (lane & segment) | (clamp & ~segment)
    first = lane & segment
    if mode == "up":
        wanted = lane - distance
        return wanted if wanted >= last else lane
    wanted = {"down": lane + distance, "bfly": lane ^ distance, "idx": first | (distance & ~segment)}[mode]
    return wanted if wanted <= last else lane
