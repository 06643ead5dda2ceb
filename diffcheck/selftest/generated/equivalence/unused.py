"""Results that no one reads, and hints, which have none."""

from __future__ import annotations

from diffcheck.selftest.generated.demand import demand_of
from diffcheck.selftest.generated.effects import is_hint
from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.population import GeneratedMutant


@rule("unused result")
def unused(mutant: GeneratedMutant) -> bool:
    """What is computed is needed in no lane on any path before it is written again, and does nothing else.

    The changed statement writes the same registers, or none: the operators that this rule looks at change what is
    computed, not where it goes. A hint stays one, or is left out. What is left out leaves its register undefined, which
    no guard may be, be it a hint's.
    """
    if mutant.operator.name in ("exchange", "result", "vector", "branch-dropped", "branch-target"):
        return False
    flow, at = mutant.subject.flow, mutant.statement.index
    effects = flow.effects[at]
    if is_hint(mutant.statement):
        return True
    if not effects.pure or not effects.writes:
        return False
    demand = demand_of(flow, guards=mutant.operator.name == "drop")
    return not any(demand.behind(at, register) for register in effects.writes)
