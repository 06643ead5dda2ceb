"""Run one case on one executor and list what holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from diffcheck import digest
from diffcheck.arms import DeviceArm, computes
from diffcheck.bounds import naive_bound, split_bound
from diffcheck.buffers import unwritten
from diffcheck.cases import Case
from diffcheck.compare import bits_equal, within_bound
from diffcheck.executors import ExecutionError, Executor
from diffcheck.executors.program import Outcome, Program
from diffcheck.generators import Inputs, Partials
from diffcheck.judge import judge_naive, judge_split
from diffcheck.oracle import OracleResult
from diffcheck.parity.prepare import Prepared
from diffcheck.receipts.cases import CaseFacts, ReferenceCase
from diffcheck.receipts.metrics import Check

Results: TypeAlias = Mapping[DeviceArm, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class ArmRun:
    """One arm's run of one case: `outcome` is None when it did not run to its end."""

    arm: DeviceArm
    ptx_sha256: str
    outcome: Outcome | None
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class ArmRecord:
    """What is kept of an arm's run; `seconds` and `instructions` are None when it did not run to its end."""

    name: str
    ptx_sha256: str
    seconds: float | None
    instructions: int | None


@dataclass(frozen=True)
class CaseRun:
    """What is kept of one case on one executor: no arrays but the oracle's result."""

    case: Case
    facts: CaseFacts
    reference: ReferenceCase
    oracle_out: npt.NDArray[np.float64] | None
    arms: tuple[ArmRecord, ...]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether there are checks and all of them hold."""
        return bool(self.checks) and all(check.holds for check in self.checks)


def run_case(prepared: Prepared, executor: Executor, target: str, arms: Sequence[DeviceArm]) -> CaseRun:
    """Run every arm that computes the case and compare: with the reference, with each other, with the oracle."""
    fit = [arm for arm in arms if computes(arm, prepared.case)]
    runs = tuple(run_arm(prepared, executor, target, arm) for arm in fit)
    results = {run.arm: run.outcome.out for run in runs if run.outcome is not None}
    checks = [check for run in runs for check in run.checks]
    checks += compare_arms(prepared, results)
    return CaseRun(
        case=prepared.case,
        facts=prepared.facts,
        reference=prepared.record,
        oracle_out=None if prepared.oracle is None else prepared.oracle.out,
        arms=tuple(_record(run) for run in runs),
        checks=tuple(checks),
    )


def _record(run: ArmRun) -> ArmRecord:
    if run.outcome is None:
        return ArmRecord(run.arm.name, run.ptx_sha256, None, None)
    return ArmRecord(run.arm.name, run.ptx_sha256, run.outcome.seconds, run.outcome.instructions)


def run_arm(prepared: Prepared, executor: Executor, target: str, arm: DeviceArm) -> ArmRun:
    """Run one arm and make the checks that need no other arm."""
    program = arm.program(prepared.problem(f"{prepared.case.name}-{arm.name}"), target)
    sha256 = digest.of_text(program.ptx)
    try:
        outcome = executor.run(program)
    except ExecutionError as error:
        check = Check(name="executes", a=arm.name, b="contract", holds=False, reason=str(error), compared=0)
        return ArmRun(arm, sha256, None, (check,))
    checks = [check_memory(arm.name, program, outcome), *judge_alone(prepared, arm, outcome.out)]
    if arm.role == "bits" and not isinstance(prepared.inputs, Partials):
        checks.append(check_scratch(prepared, arm.name, program, outcome))
    return ArmRun(arm, sha256, outcome, tuple(checks))


def judge_alone(prepared: Prepared, arm: DeviceArm, out: npt.NDArray[np.float32]) -> tuple[Check, ...]:
    """Judge one arm's result by the oracle and, where it owes the reference's bits, by the reference."""
    inputs, oracle = prepared.inputs, prepared.oracle
    if arm.role == "bounded" and isinstance(inputs, Inputs):
        return (Check.of("naive", arm.name, "oracle", judge_naive(inputs, out, oracle)),)
    return (
        Check.of("bits", arm.name, prepared.expected_by, bits_equal(out, prepared.expected)),
        Check.of("oracle", arm.name, "oracle", judge_split(inputs, prepared.plan, out, oracle)),
    )


def compare_arms(prepared: Prepared, results: Results) -> list[Check]:
    """Compare the arms' results pairwise: by bits where both owe them, within the sum of the bounds otherwise."""
    checks: list[Check] = []
    exact = [arm for arm in results if arm.role == "bits"]
    for a, b in combinations(exact, 2):
        checks.append(Check.of("bits", a.name, b.name, bits_equal(results[a], results[b])))
    if prepared.oracle is None:
        return checks  # both sides are already known word for word
    bounded = [arm for arm in results if arm.role == "bounded"]
    pairs = [(a, b) for a in exact for b in bounded]
    checks += [check_split_naive(prepared, prepared.oracle, results, a, b) for a, b in pairs]
    return checks


def check_split_naive(
    prepared: Prepared, oracle: OracleResult, results: Results, split: DeviceArm, naive: DeviceArm
) -> Check:
    """Check that a split-K result and the naive one differ by no more than both may differ from the oracle."""
    bound = split_bound(prepared.case, prepared.plan, oracle).absolute + naive_bound(prepared.case, oracle).absolute
    verdict = within_bound(results[split], results[naive].astype(np.float64), bound)
    return Check.of("split-naive", split.name, naive.name, verdict)


def check_scratch(prepared: Prepared, arm: str, program: Program, outcome: Outcome) -> Check:
    """Check that what an arm's splits left is what the reference's left, bit for bit (contract, sections 1 and 5).

    A result may hide a wrong split: one whose weight is 0, or whose fault the last division rounds away. Of a maximum
    only the sign of a zero is free. The first result of a chain counts as scratch.
    """
    ours, theirs = program.outputs, prepared.scratch
    chained = [(ours.next_q, theirs.next_q, False)] if ours.next_q is not None and theirs.next_q is not None else []
    verdicts = [
        (
            part.buffer.name,
            bits_equal(part.over(outcome.memory[part.buffer.name]), expected.view, zero_signs_equal=free),
        )
        for part, expected, free in (
            (ours.part_m, theirs.part_m, True),
            (ours.part_s, theirs.part_s, False),
            (ours.part_acc, theirs.part_acc, False),
            *chained,
        )
    ]
    wrong = [f"{name}: {verdict.reason}" for name, verdict in verdicts if not verdict.holds]
    words = sum(verdict.compared for _, verdict in verdicts)
    reason = wrong[0] if wrong else "maxima, sums and accumulators of every split have the same bits"
    return Check(name="scratch", a=arm, b=prepared.expected_by, holds=not wrong, reason=reason, compared=words)


def check_memory(arm: str, program: Program, outcome: Outcome) -> Check:
    """Check that guards, gaps and inputs are as they were and that no output word was left unwritten."""
    findings = [str(damage) for damage in program.inputs.damage(outcome.memory)]
    for region in program.regions():
        if region.role != "input":
            findings += [str(damage) for damage in region.buffer.damage(outcome.memory[region.buffer.name])]
    left = unwritten(outcome.out)
    if left:
        findings.append(f"{left} output words were never written")
    words = sum(int(raw.size) for raw in outcome.memory.values())
    reason = "; ".join(findings) or "guards, gaps and inputs unchanged, every output word written"
    return Check(name="memory", a=arm, b="contract", holds=not findings, reason=reason, compared=words)
