"""Run many cases: small ones side by side, large ones one after the other on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from diffcheck.arms import DeviceArm, HostArm, computes
from diffcheck.cases import STORAGES, Case
from diffcheck.compare import storage_error
from diffcheck.errors import BadInputError
from diffcheck.executors import Executor
from diffcheck.executors.machine import MachineExecutor
from diffcheck.parity.judge_case import CaseRun, run_case
from diffcheck.parity.prepare import prepare
from diffcheck.receipts.cases import ReferenceCase, StorageError
from diffcheck.workers import in_threads, usable_cores

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

# Above this many bytes of K and V a case is run alone: the oracle works in f64 and the naive arm widens, so several at
# a time would not fit a small machine's memory.
LARGE_BYTES = 96 * 1024 * 1024


@dataclass(frozen=True)
class Setup:
    """One executor with the target that its PTX is built for and the profile that its plans are made from."""

    executor: Executor
    target: str
    profile: str


@dataclass(frozen=True)
class Request:
    """What to run."""

    cases: Sequence[Case]
    arms: Sequence[DeviceArm]
    reference: HostArm
    setups: Sequence[Setup]
    tiles: TileTable | None = None
    """The table that plans are made by; None stands for the one that is built in."""


@dataclass
class Report:
    """What was found. `runs` has, for each executor's name, one entry a case in the order of the request."""

    request: Request
    reference: list[ReferenceCase] = field(default_factory=list)
    runs: dict[str, list[CaseRun]] = field(default_factory=dict)
    storage_errors: list[StorageError] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether something was compared and everything that was holds."""
        judged = [run.holds for runs in self.runs.values() for run in runs]
        return bool(judged) and all(judged) and all(case.status == "holds" for case in self.reference)


# Called as each case is done on an executor: the executor's name, the case and whether it holds.
Advance = Callable[[str, CaseRun], None]


def run_suite(request: Request, advance: Advance) -> Report:
    """Run every case on every executor.

    Raises `BadInputError` when there is nothing to compare and `DiffcheckError` for a case without a plan.
    """
    if not request.cases:
        raise BadInputError("case", "none", "at least one case")
    if not request.arms:
        raise BadInputError("arm", "none", "at least one arm that is made of kernels")
    for case in request.cases:
        if not any(computes(arm, case) for arm in request.arms):
            names = ", ".join(arm.name for arm in request.arms)
            what = f"storage {case.storage} and the stage {case.stage}"
            raise BadInputError("arm", names, f"an arm that has the {what} of the case {case.name}")
    report = Report(request)
    distinct: dict[tuple[str, str], CaseRun] = {}
    for setup in request.setups:
        runs = _run_setup(request, setup, advance)
        report.runs[setup.executor.name] = runs
        for run in runs:
            distinct.setdefault((setup.profile, run.case.name), run)
    report.reference = [run.reference for run in distinct.values()]
    report.storage_errors = storage_errors(report.runs[request.setups[0].executor.name])
    return report


def _run_setup(request: Request, setup: Setup, advance: Advance) -> list[CaseRun]:
    found: dict[str, CaseRun] = {}
    for cases, workers, threads in _batches(request.cases, setup.executor):
        executor = MachineExecutor(threads) if isinstance(setup.executor, MachineExecutor) else setup.executor
        alike = replace(setup, executor=executor)

        def run_one(case: Case, alike: Setup = alike, threads: int = threads) -> CaseRun:
            prepared = prepare(case, alike.profile, request.reference, threads, request.tiles)
            return run_case(prepared, alike.executor, alike.target, request.arms)

        for _, run in in_threads(run_one, cases, workers):
            found[run.case.name] = run
            advance(setup.executor.name, run)
    return [found[case.name] for case in request.cases]


def _batches(cases: Sequence[Case], executor: Executor) -> list[tuple[list[Case], int, int]]:
    """Divide cases into (cases, cases at a time, threads a case), the longest first.

    In the machine many small cases run side by side with a thread each, so that no core waits for another's; a device
    takes one at a time anyway. (The machine, the twin and numpy release the interpreter's lock.)
    """
    longest_first = sorted(cases, key=lambda case: case.num_q_heads * case.kv_len, reverse=True)
    small = [case for case in longest_first if case.kv_bytes <= LARGE_BYTES]
    large = [case for case in longest_first if case.kv_bytes > LARGE_BYTES]
    if executor.tier != "interpreted" or len(small) < 2:
        return [(longest_first, 1, 0)]
    return [batch for batch in ((small, usable_cores(), 1), (large, 1, 0)) if batch[0]]


def storage_errors(runs: Sequence[CaseRun]) -> list[StorageError]:
    """Return the storage error of every family whose f16 and f32 cases are both there."""
    families: dict[str, dict[str, CaseRun]] = {}
    for run in runs:
        families.setdefault(run.case.family, {})[run.case.storage] = run
    errors: list[StorageError] = []
    for family, pair in families.items():
        if len(pair) < len(STORAGES):
            continue
        narrow, wide = pair["f16"], pair["f32"]
        if narrow.oracle_out is not None and wide.oracle_out is not None:
            rows = storage_error(narrow.oracle_out, wide.oracle_out)
            head = int(np.argmax(rows))
            errors.append(StorageError(family=family, kv_len=wide.case.kv_len, max_rel=float(rows[head]), head=head))
    return errors
