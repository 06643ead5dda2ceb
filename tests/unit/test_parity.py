"""The runner: what is compared, what counts as holding, and what is refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from diffcheck.arms import (
    ARMS,
    BuilderArm,
    DeviceArm,
    HostArm,
    NaiveArm,
    NaiveF16Arm,
    OxideArm,
    device_arms,
    reference_arm,
)
from diffcheck.cases import Case, get_case
from diffcheck.errors import BadInputError
from diffcheck.executors import get_executor
from diffcheck.parity.judge_case import CaseRun, run_case
from diffcheck.parity.prepare import Prepared, prepare
from diffcheck.parity.suite import Report, Request, Setup, run_suite, storage_errors
from diffcheck.selftest.damage import damage_edit
from diffcheck.selftest.edit import Place, substitute, within
from diffcheck.selftest.ptx_run import MutatedArm
from diffcheck.workers import in_threads

NAMES = ("random-8x2-L65-f16", "random-8x2-L65-f32", "nan-value-8x2-L203-f16")


class Second(BuilderArm):
    """The builder's kernels under another name."""

    name = "second"


class SecondDamaged(MutatedArm):
    """The builder's kernels, damaged, under another name."""

    name = "second"


def machine() -> Setup:
    return Setup(get_executor("machine"), "sm_90", "h200")


def ignore(_executor: str, _run: CaseRun) -> None:
    pass


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare(get_case(NAMES[0]), "h200", reference_arm(), threads=0)


@pytest.fixture(scope="module")
def report() -> Report:
    cases = [get_case(name) for name in NAMES]
    arms: list[DeviceArm] = [BuilderArm(), OxideArm(), NaiveArm(), NaiveF16Arm()]
    return run_suite(Request(cases, arms, reference_arm(), [machine()]), ignore)


def run_arms(prepared: Prepared, *arms: DeviceArm) -> CaseRun:
    setup = machine()
    return run_case(prepared, setup.executor, setup.target, arms)


def test_a_suite_is_reported_in_the_order_of_its_cases(report: Report) -> None:
    assert report.holds
    assert [run.case.name for run in report.runs["machine"]] == list(NAMES)
    assert [case.case.name for case in report.reference] == list(NAMES)


def test_every_arm_is_judged(report: Report) -> None:
    pairs = {(check.name, check.a, check.b) for check in report.runs["machine"][0].checks}
    assert pairs == {
        ("memory", "builder", "contract"),
        ("bits", "builder", "twin"),
        ("scratch", "builder", "twin"),
        ("oracle", "builder", "oracle"),
        ("memory", "oxide", "contract"),
        ("bits", "oxide", "twin"),
        ("scratch", "oxide", "twin"),
        ("oracle", "oxide", "oracle"),
        ("bits", "builder", "oxide"),
        ("memory", "naive", "contract"),
        ("naive", "naive", "oracle"),
        ("split-naive", "builder", "naive"),
        ("memory", "naive-f16", "contract"),
        ("naive", "naive-f16", "oracle"),
        ("split-naive", "builder", "naive-f16"),
        ("split-naive", "oxide", "naive"),
        ("split-naive", "oxide", "naive-f16"),
    }


def test_the_first_result_of_a_chain_is_held_to_the_reference() -> None:
    ready = prepare(get_case("hops-8x2-L203-f16-chunk61"), "h200", reference_arm(), threads=0)
    run = run_arms(ready, BuilderArm(), NaiveArm())
    assert run.holds
    assert {check.a for check in run.checks} == {"builder"}
    first = ready.scratch.results[0].view
    first[5, 7] = np.nextafter(first[5, 7], np.float32(2))
    (failed,) = (check for check in run_arms(ready, BuilderArm()).checks if not check.holds)
    assert (failed.name, failed.reason.partition(",")[0]) == ("scratch", "next_q: query head 5")


def test_storage_error_is_that_of_a_family(report: Report) -> None:
    (error,) = report.storage_errors
    assert error.family == "random-8x2-L65"
    assert 1e-5 < error.max_rel < 1e-2
    assert storage_errors(report.runs["machine"][:1]) == []


def test_arms_that_owe_the_same_bits_are_compared_pairwise(prepared: Prepared) -> None:
    checks = run_arms(prepared, BuilderArm(), Second()).checks
    assert ("builder", "second") in {(check.a, check.b) for check in checks if check.name == "bits"}


def test_one_damaged_arm_fails_its_own_and_the_pairwise_check(prepared: Prepared) -> None:
    run = run_arms(prepared, BuilderArm(), SecondDamaged(damage_edit()))
    assert not run.holds
    failed = {(check.name, check.a, check.b) for check in run.checks if not check.holds}
    assert failed == {("bits", "second", "twin"), ("bits", "builder", "second")}


def test_a_fault_is_a_failed_check_that_names_the_instruction(prepared: Prepared) -> None:
    edit = within(Place("splitk_reduce_", "exchange"), substitute(r"^ *bar\.sync 0;\n", ""))
    run = run_arms(prepared, MutatedArm(edit))
    assert not run.holds
    (check,) = run.checks
    assert check.name == "executes"
    assert "splitk_reduce_d256" in check.reason
    assert run.arms[0].seconds is None


def test_a_run_over_nothing_is_refused() -> None:
    with pytest.raises(BadInputError, match="case"):
        run_suite(Request([], device_arms(), reference_arm(), [machine()]), ignore)
    with pytest.raises(BadInputError, match="arm"):
        run_suite(Request([get_case(NAMES[0])], [], reference_arm(), [machine()]), ignore)


def test_a_report_without_runs_does_not_hold() -> None:
    assert not Report(Request([], [], reference_arm(), [])).holds


def test_a_case_run_without_checks_does_not_hold(report: Report) -> None:
    assert not replace(report.runs["machine"][0], checks=()).holds


def test_registries_are_consistent() -> None:
    assert all(name == arm.name for name, arm in ARMS.items())
    assert sum(isinstance(arm, HostArm) for arm in ARMS.values()) == 1
    for arm in device_arms():
        assert arm.entries("sm_90")
        assert all(len(digest) == 64 for digest in arm.sources().values())


def test_workers_stop_at_the_first_error() -> None:
    started: list[int] = []

    def work(item: int) -> int:
        started.append(item)
        if item == 0:
            raise ValueError("the first")
        time.sleep(0.005)  # long enough for the caller to hear of the first, however busy the machine is
        return item

    def consume() -> Iterator[tuple[int, int]]:
        yield from in_threads(work, range(1000), workers=1)

    with pytest.raises(ValueError, match="the first"):
        list(consume())
    assert len(started) < 1000


def test_workers_return_every_item() -> None:
    assert sorted(in_threads(lambda item: item * item, range(20), workers=3)) == [(i, i * i) for i in range(20)]


def test_an_unknown_plan_is_one_line() -> None:
    from diffcheck.errors import DiffcheckError

    case: Case = replace(get_case(NAMES[0]), name="planless", policy="fixed:0")
    with pytest.raises(DiffcheckError, match="planless") as caught:
        prepare(case, "h200", reference_arm(), threads=1)
    assert "\n" not in str(caught.value)
