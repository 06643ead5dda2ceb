"""Try a mutant on the cases of its kernel until a check of the harness fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from diffcheck.arms import DeviceArm, Problem, Role, TwinArm
from diffcheck.cases import Case, Storage
from diffcheck.errors import DiffcheckError
from diffcheck.executors.machine import MachineExecutor
from diffcheck.executors.program import Program
from diffcheck.kernel_cases import kernel_cases, reduce_cases
from diffcheck.parity.judge_case import run_arm
from diffcheck.parity.prepare import Prepared, prepare
from diffcheck.planning import plan_for
from diffcheck.receipts.metrics import Check
from diffcheck.selftest.base import StaleMutantError
from diffcheck.selftest.generated.population import GeneratedMutant, device_arm
from diffcheck.tune.table_text import one_tile

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

PROFILE = "h200"
STRICT = "strict"
# A block of the suite's largest case executes some 40,000 warp instructions.
STEP_LIMIT = 1_000_000
_PARTIAL = re.compile(r"splitk_partial_(?P<storage>f32|f16)_g(?P<group>\d+)_d\d+_w(?P<warps>\d+)r(?P<rows>\d+)")


@dataclass(frozen=True)
class Killed:
    """The check that failed first, the case on which it did (empty: none was needed), and what it said."""

    check: str
    case: str
    evidence: str


class _MutatedArm:
    """An arm with one mutant planted in its kernels."""

    def __init__(self, arm: DeviceArm, mutant: GeneratedMutant) -> None:
        self._arm, self._mutant = arm, mutant
        self.name, self.title = arm.name, arm.title
        self.storages, self.stages = arm.storages, arm.stages
        self.role: Role = arm.role
        self.available, self.sources = arm.available, arm.sources
        self.entries, self.kernel = arm.entries, arm.kernel

    def program(self, problem: Problem, target: str) -> Program:
        """Return the arm's program with the mutant in its text."""
        program = self._arm.program(problem, target)
        return replace(program, ptx=self._mutant.apply(program.ptx))


def cases_of(entry: str) -> tuple[Case, ...]:
    """Return the cases that exercise a kernel."""
    match = _PARTIAL.match(entry)
    if match is None:
        return reduce_cases()
    storage: Storage = "f32" if match["storage"] == "f32" else "f16"
    return kernel_cases(storage, int(match["group"]))


def tiles_of(entry: str, case: Case) -> TileTable | None:
    """Return the table by which a case runs a kernel: the built-in one (None) where that takes its tile, or its own."""
    match = _PARTIAL.match(entry)
    if match is None or plan_for(case, PROFILE).partial_entry == entry:
        return None
    return _tile(int(match["warps"]), int(match["rows"]))


@lru_cache(maxsize=8)
def _tile(warps: int, rows: int) -> TileTable:
    return one_tile(warps, rows, "one-wave", "the kernel that mutants are made of")


def try_mutant(mutant: GeneratedMutant, cases: Sequence[Case] | None = None) -> Killed | None:
    """Run a mutant on its kernel's cases (or on others) until a check fails; None when it survives them all.

    Raises `DiffcheckError` where the check that fails does so without the mutant, too.
    """
    said = _refusal(mutant)
    if said:
        return Killed(STRICT, "", said)
    arm = _MutatedArm(device_arm(mutant.subject.arm), mutant)
    for case in cases_of(mutant.subject.entry) if cases is None else cases:
        prepared = prepared_case(case, tiles_of(mutant.subject.entry, case))
        run = run_arm(prepared, MachineExecutor(1, STEP_LIMIT), mutant.subject.target, arm)
        failed = next((check for check in run.checks if not check.holds), None)
        if failed is not None:
            _require_sound(mutant, case)
            return Killed(failed.name, case.name, failed.reason)
    return None


def _require_sound(mutant: GeneratedMutant, case: Case) -> None:
    """Require that a kernel passes a case without its mutant: where it does not, every mutant would count as killed."""
    subject = mutant.subject
    failed = failure_without_mutants(subject.arm, subject.target, case, tiles_of(subject.entry, case))
    if failed is not None:
        raise DiffcheckError(f"{subject.entry} of {subject.arm} without a mutant, {case.name}: {failed.reason}")


@lru_cache(maxsize=4096)
def failure_without_mutants(arm: str, target: str, case: Case, tiles: TileTable | None = None) -> Check | None:
    """Return the first check of an arm's own kernels that fails on a case; None where all hold."""
    run = run_arm(prepared_case(case, tiles), MachineExecutor(1, STEP_LIMIT), target, device_arm(arm))
    return next((check for check in run.checks if not check.holds), None)


@lru_cache(maxsize=1024)
def prepared_case(case: Case, tiles: TileTable | None = None) -> Prepared:
    """Return a case with its inputs, oracle and reference, by the built-in tile table or another one, computed once.

    Raises `StaleMutantError` where the oracle does not take the reference's result: it could catch nothing.
    """
    prepared = prepare(case, PROFILE, TwinArm(), threads=1, tiles=tiles)
    if prepared.record.status != "holds":
        raise StaleMutantError(f"case {case.name} does not hold without a fault: {prepared.record.checks[0].reason}")
    return prepared


def _refusal(mutant: GeneratedMutant) -> str:
    """Return what the machine says of a mutant that it does not take at all; empty for one that it does."""
    from rust_kernel import ptx

    try:
        ptx.PtxModule(mutant.apply(mutant.subject.flow.kernel.text), name=mutant.subject.entry)
    except ptx.PtxError as error:
        return " ".join(str(error).split())
    return ""
