"""Run an arm's kernels with a planted fault in the PTX machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from diffcheck.arms import BuilderArm, DeviceArm, OxideArm, Problem, TwinArm
from diffcheck.cases import get_case
from diffcheck.executors.machine import MachineExecutor
from diffcheck.executors.program import Program
from diffcheck.parity.judge_case import run_arm
from diffcheck.parity.prepare import Prepared, prepare
from diffcheck.receipts.metrics import Check
from diffcheck.selftest.base import Finding
from diffcheck.selftest.edit import Edit

PROFILE = "h200"
TARGET = "sm_90"


class MutatedArm(BuilderArm):
    """The builder's kernels after an edit of their PTX."""

    def __init__(self, edit: Edit) -> None:
        self.edit = edit

    def program(self, problem: Problem, target: str) -> Program:
        """Return the builder's program with the edited text."""
        program = super().program(problem, target)
        return replace(program, ptx=self.edit(program.ptx))


class MutatedOxideArm(OxideArm):
    """The Rust kernels after an edit of their PTX."""

    def __init__(self, edit: Edit) -> None:
        self.edit = edit

    def program(self, problem: Problem, target: str) -> Program:
        """Return the Rust kernels' program with the edited text."""
        program = super().program(problem, target)
        return replace(program, ptx=self.edit(program.ptx))


@lru_cache(maxsize=32)
def prepared_case(name: str) -> Prepared:
    """Return a small case with oracle and twin, computed once."""
    return prepare(get_case(name), PROFILE, TwinArm(), threads=0)


def checks_of(case: str, arm: DeviceArm) -> tuple[Check, ...]:
    """Return the checks of one arm's run of one case in the PTX machine."""
    return run_arm(prepared_case(case), MachineExecutor(), TARGET, arm).checks


@lru_cache(maxsize=32)
def failures_without_a_fault(case: str, arm: Callable[[Edit], DeviceArm]) -> str:
    """Return what fails on a case without any edit, empty where nothing does: such a case would catch every fault."""
    failed = [check for check in checks_of(case, arm(str)) if not check.holds]
    return f"{case} without a fault: {failed[0].reason}" if failed else ""


@dataclass(frozen=True)
class PtxFault:
    """An edit of the PTX, the cases on which it must show, and the arm whose kernels are edited.

    It counts only where all checks hold without the edit.
    """

    edit: Edit
    cases: Sequence[str]
    arm: Callable[[Edit], DeviceArm] = MutatedArm

    def __call__(self) -> Finding:
        """Plant the fault, run the cases and collect the checks that fail."""
        sound = [failures_without_a_fault(case, self.arm) for case in self.cases]
        failed = [
            (case, check) for case in self.cases for check in checks_of(case, self.arm(self.edit)) if not check.holds
        ]
        names = tuple(dict.fromkeys(check.name for _, check in failed))
        if not failed:
            return Finding((), f"every check held on {', '.join(self.cases)}")
        return Finding(names, f"{failed[0][0]}: {failed[0][1].reason}", "; ".join(filter(None, sound)))
