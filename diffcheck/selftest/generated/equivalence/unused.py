"""Results that no one reads."""

from __future__ import annotations

from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.population import GeneratedMutant


@rule("unused result")
def unused(mutant: GeneratedMutant) -> bool:
    """What is computed is read on no path before it is written again, and computing it does nothing else.

    The changed statement writes the same registers, or none: the operators that this rule looks at change what is
    computed, not where it goes.
    """
    if mutant.operator.name in ("exchange", "result", "vector", "branch-dropped", "branch-target"):
        return False
    flow, at = mutant.subject.flow, mutant.statement.index
    effects = flow.effects[at]
    return effects.pure and bool(effects.writes) and not (effects.writes & flow.live_behind(at))
