"""The order of neighbours."""

from __future__ import annotations

from diffcheck.selftest.generated.accesses import Access, accesses_of
from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.population import GeneratedMutant
from diffcheck.selftest.generated.ptx_text import Statement


@rule("independent neighbours")
def independent(mutant: GeneratedMutant) -> bool:
    """Two neighbours that share nothing may change places.

    Neither writes a register that the other reads or writes. At most one of them needs other lanes, or both are
    shuffles that the same lanes come to, one right behind the other in either order. Where one of them writes memory
    the other does not touch it, or other bytes of it: in another state space, or at another distance from the same
    register. Then each finds the values that it found before and leaves those that it left, and no other instruction
    stands between them. (Two lanes that touch the same bytes by the two of them race in either order.)
    """
    if mutant.operator.name != "exchange":
        return False
    flow, at = mutant.subject.flow, mutant.statement.index
    first, second = flow.effects[at], flow.effects[at + 1]
    shared = (first.writes & (second.reads | second.writes)) | (second.writes & first.reads)
    memory = "write" in (first.memory, second.memory) and first.memory and second.memory and not apart(mutant)
    together = first.collective and second.collective and not _both_shuffle(*flow.kernel.statements[at : at + 2])
    return not (shared or memory or together or first.control or second.control)


def _both_shuffle(first: Statement, second: Statement) -> bool:
    """Tell whether two neighbours are shuffles that the same lanes do."""
    same_lanes = first.prefix == second.prefix and first.operands[4:] == second.operands[4:]
    return (first.opcode, second.opcode) == ("shfl", "shfl") and same_lanes


def apart(mutant: GeneratedMutant) -> bool:
    """Tell whether two neighbours are known to touch different bytes of memory."""
    statements, at = mutant.subject.flow.kernel.statements, mutant.statement.index
    first, second = accesses_of(statements[at]), accesses_of(statements[at + 1])
    if not first or not second:
        return False
    return all(_disjoint(a, b) for a in first for b in second if a.writes or b.writes)


def _disjoint(a: Access, b: Access) -> bool:
    if a.space != b.space:
        return True
    return a.base == b.base and (a.offset + a.size <= b.offset or b.offset + b.size <= a.offset)
