"""The order of neighbours."""

from __future__ import annotations

from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.population import GeneratedMutant


@rule("independent neighbours")
def independent(mutant: GeneratedMutant) -> bool:
    """Two neighbours that share nothing may change places.

    Neither writes a register that the other reads or writes, at most one of them writes memory and then the other does
    not touch it, and at most one of them needs other lanes. Then each finds the values that it found before and leaves
    those that it left, and no other instruction stands between them.
    """
    if mutant.operator.name != "exchange":
        return False
    flow, at = mutant.subject.flow, mutant.statement.index
    first, second = flow.effects[at], flow.effects[at + 1]
    shared = (first.writes & (second.reads | second.writes)) | (second.writes & first.reads)
    memory = "write" in (first.memory, second.memory) and first.memory and second.memory
    together = first.collective and second.collective
    return not (shared or memory or together or first.control or second.control)
