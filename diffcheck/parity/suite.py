"""Run many cases: small ones side by side, large ones one after the other on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

import numpy as np

from diffcheck.arms import DeviceArm, HostArm
from diffcheck.cases import STORAGES, Case
from diffcheck.compare import storage_error
from diffcheck.errors import BadInputError
from diffcheck.executors import Executor
from diffcheck.executors.machine import MachineExecutor
from diffcheck.parity.judge_case import CaseRun, run_case
from diffcheck.parity.prepare import prepare
from diffcheck.receipts.cases import ReferenceCase, StorageError

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
    cores = os.cpu_count() or 1
    small = [case for case in request.cases if case.kv_bytes <= LARGE_BYTES]
    # A device runs one case at a time anyway; a single case has the machine's own threads.
    if isinstance(setup.executor, MachineExecutor) and len(small) > 1 and cores > 1:
        alone = Setup(MachineExecutor(threads=1), setup.target, setup.profile)
        for run in _in_parallel(request, alone, small, cores):
            found[run.case.name] = run
            advance(setup.executor.name, run)
    for case in request.cases:
        if case.name not in found:
            found[case.name] = _run_one(request, setup, case, threads=0)
            advance(setup.executor.name, found[case.name])
    return [found[case.name] for case in request.cases]


def _in_parallel(request: Request, setup: Setup, cases: Sequence[Case], cores: int) -> Iterator[CaseRun]:
    # The longest first, so that no core waits for a long case at the end. The machine, the twin and numpy release the
    # interpreter's lock.
    ordered = sorted(cases, key=lambda case: case.num_q_heads * case.kv_len, reverse=True)
    with ThreadPoolExecutor(max_workers=cores) as pool:
        futures = [pool.submit(_run_one, request, setup, case, 1) for case in ordered]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_one(request: Request, setup: Setup, case: Case, threads: int) -> CaseRun:
    prepared = prepare(case, setup.profile, request.reference, threads)
    return run_case(prepared, setup.executor, setup.target, request.arms)


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
