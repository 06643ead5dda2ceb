"""Run cases on every build of every arm and compare: output with the twin, output and scratch with the first build."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from diffcheck.arms import DeviceArm, HostArm, Problem, computes
from diffcheck.assemble.ptxas import AssembleError
from diffcheck.buffers import Placed
from diffcheck.cases import Case
from diffcheck.compare import bits_equal
from diffcheck.errors import BadInputError
from diffcheck.executors import ExecutionError, Executor
from diffcheck.executors.builds import Build, loadable
from diffcheck.executors.program import Outcome, Program
from diffcheck.generators import generate_for
from diffcheck.layouts import allocate_outputs
from diffcheck.planning import plan_for
from diffcheck.toolchain.model import BuildResult
from diffcheck.workers import in_threads, usable_cores


@dataclass
class Tally:
    """What one arm and build have shown so far."""

    programs: set[str] = field(default_factory=set)
    cases: int = 0
    words: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Request:
    """What to run: `executors` has one for each build, the one that the others are compared with first."""

    cases: Sequence[Case]
    arms: Sequence[DeviceArm]
    reference: HostArm
    executors: Mapping[Build, Executor]
    target: str
    profile: str


@dataclass(frozen=True)
class Assembly:
    """One text to assemble, and the first case that runs it."""

    case: str
    text: str
    build: Build


def run_builds(request: Request, advance: Callable[[str], None]) -> list[BuildResult]:
    """Run everything; `advance` is called with a case's name as it is done.

    Raises `BadInputError` when there is nothing to run, or no arm owes the reference's bits.
    """
    arms = [arm for arm in request.arms if arm.role == "bits"]
    if not arms:
        names = ", ".join(arm.name for arm in request.arms) or "none"
        raise BadInputError("arm", names, "at least one that has the reference's bits")
    if not request.cases:
        raise BadInputError("case", "none", "at least one case")
    tallies = {(arm.name, build): Tally() for arm in arms for build in request.executors}
    for case in request.cases:
        _run_case(request, case, [arm for arm in arms if computes(arm, case)], tallies)
        advance(case.name)
    return [
        BuildResult(
            arm=arm,
            build=build,
            programs=len(tally.programs),
            cases=tally.cases,
            words=tally.words,
            failures=tuple(tally.failures),
        )
        for (arm, build), tally in tallies.items()
    ]


def assembly_jobs(request: Request) -> list[Assembly]:
    """Return what ptxas has to assemble, each text and build once."""
    texts: dict[str, str] = {}
    for case in request.cases:
        problem = _problem(case, request.profile)
        for arm in request.arms:
            if arm.role == "bits" and computes(arm, case):
                texts.setdefault(arm.program(problem, request.target).ptx, case.name)
    return [
        Assembly(name, text, build) for text, name in texts.items() for build in request.executors if build != "jit"
    ]


def assemble_ahead(jobs: Sequence[Assembly], arch: str, advance: Callable[[str], None]) -> None:
    """Assemble on all cores; the results are kept for the runs, and what ptxas refuses is found there."""

    def assemble(job: Assembly) -> None:
        with suppress(AssembleError):
            loadable(job.text, job.build, arch)

    for index, _ in in_threads(assemble, jobs, usable_cores()):
        advance(jobs[index].case)


def _problem(case: Case, profile: str) -> Problem:
    plan = plan_for(case, profile)
    return Problem(case.name, generate_for(case, plan), allocate_outputs(case, plan.n_splits), plan)


def _run_case(
    request: Request, case: Case, arms: Sequence[DeviceArm], tallies: Mapping[tuple[str, Build], Tally]
) -> None:
    problem = _problem(case, request.profile)
    expected = request.reference.compute(problem).out
    for arm in arms:
        program = arm.program(problem, request.target)
        first: Outcome | None = None
        for build, executor in request.executors.items():
            tally = tallies[arm.name, build]
            tally.cases += 1
            tally.programs.add(program.ptx)
            try:
                outcome = executor.run(program)
            except ExecutionError as error:
                tally.failures.append(str(error))
                continue
            pairs = [(f"the {request.reference.name}", outcome.out, expected, False)]
            pairs += _against(first, outcome, program) if first is not None else []
            tally.failures += _differences(case.name, pairs)
            tally.words += sum(int(got.size) for _, got, _, _ in pairs)
            first = outcome if first is None else first


Pair = tuple[str, npt.NDArray[np.float32], npt.NDArray[np.float32], bool]


def _against(first: Outcome, outcome: Outcome, program: Program) -> Iterator[Pair]:
    """Output and scratch of a build beside those of the first; a maximum in the scratch may be +0 or -0."""
    yield "the first build", outcome.out, first.out, False
    outputs = program.outputs
    for part in (outputs.part_m, outputs.part_s, outputs.part_acc):
        if part.buffer.name in outcome.memory and _is_scratch(program, part):
            got, want = (part.over(one.memory[part.buffer.name]) for one in (outcome, first))
            yield f"the first build's {part.buffer.name}", got, want, part is outputs.part_m


def _is_scratch(program: Program, part: Placed) -> bool:
    return any(region.buffer is part.buffer for region in program.regions())


def _differences(case: str, pairs: Sequence[Pair]) -> list[str]:
    found: list[str] = []
    for against, got, want, zero_signs_equal in pairs:
        verdict = bits_equal(got, want, zero_signs_equal=zero_signs_equal)
        if not verdict.holds:
            found.append(f"{case}: against {against}: {verdict.reason}")
    return found[:1]
