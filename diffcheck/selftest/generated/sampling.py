"""A random sample of mutants that the same seed draws again.

Stratified: the kernels' lines are mostly the same few operations, so that an even draw would try barriers or rounding
modes hardly ever. Each operator on each arm has the same share of the sample, as far as it makes that many; which of
them have one mutant more, or in a small sample one at all, is drawn too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diffcheck.errors import BadInputError
from diffcheck.selftest.generated.operators import Operator
from diffcheck.selftest.generated.population import GeneratedMutant, Subject, made


@dataclass(frozen=True)
class Sample:
    """Distinct mutants in the order of their drawing, and how many were drawn that no parser takes for PTX."""

    mutants: tuple[GeneratedMutant, ...]
    not_ptx: int


def draw(subjects: Sequence[Subject], operators: Sequence[Operator], count: int, seed: int) -> Sample:
    """Draw `count` mutants.

    What the machine does not take for PTX even where it is not strict is drawn again: a fault that no assembler lets
    through is no fault to catch. Raises `BadInputError` for a count below 1, and where there are fewer mutants.
    """
    if count < 1:
        raise BadInputError("sample", count, "a whole number >= 1")
    strata = [
        _shuffled([subject for subject in subjects if subject.arm == arm], operator, f"{seed} {operator.name} {arm}")
        for operator in operators
        for arm in dict.fromkeys(subject.arm for subject in subjects)
    ]
    random.Random(f"{seed}").shuffle(strata)
    found: list[GeneratedMutant] = []
    not_ptx = 0
    while strata and len(found) < count:
        for stratum in list(strata):
            for mutant in stratum:
                if is_ptx(mutant):
                    found.append(mutant)
                    break
                not_ptx += 1
            else:
                strata.remove(stratum)
    if len(found) < count:
        raise BadInputError("sample", count, f"at most {len(found)}, which is all there are")
    return Sample(tuple(found[:count]), not_ptx)


def _shuffled(subjects: Sequence[Subject], operator: Operator, seed: str) -> Iterator[GeneratedMutant]:
    """Yield an operator's mutants in random order, each once: a kernel first, then one of its mutants."""
    own = random.Random(seed)
    waiting = list(subjects)
    left: dict[Subject, list[GeneratedMutant]] = {}
    while waiting:
        subject = own.choice(waiting)
        if subject not in left:
            left[subject] = list(made(subject, operator))
            own.shuffle(left[subject])
        if left[subject]:
            yield left[subject].pop()
        else:
            waiting.remove(subject)


def is_ptx(mutant: GeneratedMutant) -> bool:
    """Tell whether the machine takes a mutant for PTX, whatever it says of approximations."""
    from rust_kernel import ptx

    try:
        ptx.PtxModule(mutant.apply(mutant.subject.flow.kernel.text), strict=False)
    except ptx.PtxError:
        return False
    return True
