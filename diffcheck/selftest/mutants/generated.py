"""A few mutants that a program made of both arms' PTX, beside those that people wrote.

`diffcheck mutants` tries hundreds, of every kernel; these are of the kernels for one storage and group size, one or two
an operator, and none that is known to be equivalent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from diffcheck.selftest.base import Finding, Mutant
from diffcheck.selftest.generated.equivalence import proven_by
from diffcheck.selftest.generated.justified import justification_of
from diffcheck.selftest.generated.operators import all_operators
from diffcheck.selftest.generated.population import GeneratedMutant, subjects
from diffcheck.selftest.generated.sampling import draw
from diffcheck.selftest.generated.trial import try_mutant

COUNT = 48
SEED = 0
TARGET = "sm_90"
KERNELS = ("splitk_partial_f16_g4_*", "splitk_reduce_*")
CHECK = "any check"


@dataclass(frozen=True)
class Generated:
    """One drawn mutant; whichever check fails on a case of its kernel catches it."""

    mutant: GeneratedMutant

    def __call__(self) -> Finding:
        """Try the mutant, and where a check fails the kernel without it."""
        killed = try_mutant(self.mutant)
        if killed is None:
            return Finding((), f"every check held: {self.mutant.line_text} became {self.mutant.became}")
        where = f"{killed.case}: " if killed.case else ""
        return Finding((CHECK, killed.check), f"{where}{killed.evidence}")


@lru_cache(maxsize=1)
def drawn() -> tuple[GeneratedMutant, ...]:
    """Return the drawn mutants: as many as `COUNT`, in the order of their drawing."""
    sample = draw(subjects((), TARGET, KERNELS), all_operators(), 3 * COUNT, SEED)
    different = (mutant for mutant in sample.mutants if not proven_by(mutant) and justification_of(mutant) is None)
    return tuple(islice(different, COUNT))


def mutants() -> tuple[Mutant, ...]:
    """Return the drawn mutants; none where the native module is not built."""
    try:
        import rust_kernel.ptx  # noqa: F401
    except ImportError:
        return ()
    return tuple(Mutant(mutant.id, "ptx", mutant.operator.what, CHECK, Generated(mutant)) for mutant in drawn())
