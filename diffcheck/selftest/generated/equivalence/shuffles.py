"""Shuffles that take the same values by other words."""

from __future__ import annotations

from diffcheck.selftest.generated.demand import demand_of
from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.lanes import lanes_of
from diffcheck.selftest.generated.population import GeneratedMutant
from diffcheck.selftest.generated.ptx_text import reread
from diffcheck.selftest.generated.shuffle import LANES

_OPERATORS = ("shuffle-mode", "shuffle-lane", "shuffle-segment")


@rule("same lanes")
def same_lanes(mutant: GeneratedMutant) -> bool:
    """Before and after the change, each of 32 lanes takes the value of the same lane, or of one that holds the same.

    With constant operands the source of each lane follows from the definition of `shfl.sync`. Which lanes hold the same
    value is what `diffcheck.selftest.generated.lanes` proves: they computed it from the same operands by the same
    operations, up to the order of the two operands of a sum or product. Lanes that no one needs
    (`diffcheck.selftest.generated.demand`) may take anything.
    """
    changed = reread(mutant.statement, mutant.change.text)
    if mutant.operator.name not in _OPERATORS or changed is None:
        return False
    flow, statement = mutant.subject.flow, mutant.statement
    before, after = lanes_of(flow).shuffled(statement, changed)
    (result,) = flow.effects[statement.index].writes
    needed = demand_of(flow).behind(statement.index, result)
    return all(before[lane] == after[lane] for lane in range(LANES) if needed >> lane & 1)
