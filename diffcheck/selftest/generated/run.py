"""Draw a sample of mutants and try each one."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffcheck.cases import Case
from diffcheck.selftest.generated.equivalence import proven_by
from diffcheck.selftest.generated.justified import justification_of
from diffcheck.selftest.generated.model import (
    REQUIRED_PERCENT,
    GeneratedResult,
    GeneratedRun,
    Outcome,
    kill_percent,
    status_of,
)
from diffcheck.selftest.generated.operators import select_operators
from diffcheck.selftest.generated.population import GeneratedMutant, subjects
from diffcheck.selftest.generated.sampling import draw
from diffcheck.selftest.generated.trial import STRICT, Killed, cases_of, try_mutant
from diffcheck.workers import in_threads

# Given a mutant and the cases to try it on (None: all of its kernel's), it says which check catches it.
Try = Callable[[GeneratedMutant, Sequence[Case] | None], Killed | None]
# How many cases a mutant is tried on that is called equivalent: enough that a wrong rule does not last long.
TRIED_ANYWAY = 8


@dataclass(frozen=True)
class Choice:
    """What to draw from and how: no arms stands for both, no operators and no patterns of kernels for all."""

    count: int
    seed: int
    target: str
    arms: Sequence[str] = ()
    operators: Sequence[str] = ()
    kernels: Sequence[str] = ()
    jobs: int = 1


def run_generated(choice: Choice, advance: Callable[[str], None], attempt: Try = try_mutant) -> GeneratedRun:
    """Draw mutants and try every one; `attempt` says which check catches a mutant, if any.

    `advance` is called with a mutant's id as it is done. Raises `BadInputError` for a choice that leaves too few
    mutants and `DiffcheckError` where a check fails that would fail without the mutant.
    """
    kernels = subjects(choice.arms, choice.target, choice.kernels)
    operators = select_operators(choice.operators)
    sample = draw(kernels, operators, choice.count, choice.seed)
    results: dict[int, GeneratedResult] = {}
    for index, result in in_threads(lambda mutant: result_of(mutant, attempt), sample.mutants, choice.jobs):
        results[index] = result
        advance(result.id)
    mutants = tuple(results[index] for index in range(len(sample.mutants)))
    return GeneratedRun(
        status=status_of(mutants, REQUIRED_PERCENT),
        seed=choice.seed,
        target=choice.target,
        arms=tuple(dict.fromkeys(subject.arm for subject in kernels)),
        operators=tuple(operator.name for operator in operators),
        redrawn=sample.not_ptx,
        required_percent=REQUIRED_PERCENT,
        kill_percent=kill_percent(mutants),
        mutants=mutants,
    )


def result_of(mutant: GeneratedMutant, attempt: Try) -> GeneratedResult:
    """Try one mutant and say what became of it.

    One that is called equivalent is tried too, on some cases of its kernel, always the same ones: a check that fails
    refutes the rule.
    """
    start = time.perf_counter()
    proof, reason = proven_by(mutant), justification_of(mutant)
    killed = attempt(mutant, some_cases(mutant) if proof or reason else None)
    seconds = time.perf_counter() - start
    outcome: Outcome = "survived"
    by, case, evidence = "", "", "every check held"
    if killed is not None:
        # A form that is refused says nothing of what it would compute.
        outcome = "contradiction" if (proof or reason) and killed.check != STRICT else "killed"
        by, case, evidence = killed.check, killed.case, killed.evidence
    elif proof:
        outcome, by = "equivalent", proof
    elif reason is not None:
        outcome, by, evidence = "justified", reason.name, reason.because
    return GeneratedResult(
        id=mutant.id,
        arm=mutant.subject.arm,
        kernel=mutant.subject.entry,
        place=mutant.subject.place(mutant.statement),
        operator=mutant.operator.name,
        line=mutant.line_text,
        became=mutant.became,
        outcome=outcome,
        by=by,
        case=case,
        evidence=evidence,
        seconds=seconds,
    )


def some_cases(mutant: GeneratedMutant) -> Sequence[Case]:
    """Return a few of the cases of a mutant's kernel, drawn by its name."""
    cases = cases_of(mutant.subject.entry)
    return random.Random(mutant.id).sample(cases, min(TRIED_ANYWAY, len(cases)))
