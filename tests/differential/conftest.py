"""One node for each case and arm and executor, from the registries that the command line reads."""

from __future__ import annotations

from functools import lru_cache

import pytest

from diffcheck.arms import ARMS, computes, device_arms, reference_arm
from diffcheck.cases import Case, all_cases, select
from diffcheck.executors import EXECUTORS, get_executor
from diffcheck.parity.judge_case import CaseRun, run_case
from diffcheck.parity.prepare import prepare
from diffcheck.planning import plan_for

# What `pytest` without options runs: every quick case, and of the matrix those that the machine runs in a moment.
# (`diffcheck parity --suite matrix` runs all of it, side by side on all cores; CI does that in the place of this.)
PART_OF_MATRIX_ROWS = 33_000
# What a block costs beside its rows, in rows.
ROWS_A_BLOCK = 25


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"case", "arm", "executor"} <= set(metafunc.fixturenames):
        suite: str | None = metafunc.config.getoption("--suite")
        only: str | None = metafunc.config.getoption("--executor")
        executors = [name for name in EXECUTORS if only in {None, name}]
        nodes = [
            pytest.param(
                case.name, arm.name, executor, id=f"{case.name}-{arm.name}-{executor}", marks=marks_of(executor)
            )
            for case in chosen_cases(suite)
            for executor in executors
            for arm in ARMS.values()
            if computes(arm, case)
        ]
        metafunc.parametrize(("case", "arm", "executor"), nodes)


def chosen_cases(suite: str | None) -> tuple[Case, ...]:
    if suite is not None:
        return select(suite)
    return tuple(
        case
        for case in all_cases()
        if "quick" in case.suites or ("matrix" in case.suites and rows_worth(case) <= PART_OF_MATRIX_ROWS)
    )


def rows_worth(case: Case) -> int:
    """How long the machine runs a case, in rows of K."""
    profile = get_executor("machine").default_profile()
    blocks = case.num_kv_heads * plan_for(case, profile).n_splits
    return case.num_q_heads * case.kv_len + ROWS_A_BLOCK * blocks


def marks_of(executor: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.gpu] if executor == "gpu" else []


@pytest.fixture
def run(case: str, executor: str) -> CaseRun:
    """The case on the executor, all arms; run once for the nodes of its arms, which follow each other."""
    availability = get_executor(executor).available()
    if not availability and executor == "gpu":
        pytest.skip(availability.reason)
    return run_of(case, executor)


@lru_cache(maxsize=2)
def run_of(name: str, executor_name: str) -> CaseRun:
    (case,) = select(names=[name])
    executor = get_executor(executor_name)
    prepared = prepare(case, executor.default_profile(), reference_arm(), threads=0)
    return run_case(prepared, executor, executor.default_target(), device_arms())
