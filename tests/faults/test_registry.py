"""The registry of faults is closed: every report is accounted for, and what covers it exists."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import typer.core
import typer.main

from diffcheck.arms import BuilderArm, OxideArm
from diffcheck.cases import get_case, select
from diffcheck.cli.main import app
from diffcheck.executors.machine import MachineExecutor
from diffcheck.faults import Fault, all_faults, fault_cases
from diffcheck.faults.markdown import fault_table
from diffcheck.faults.reports import REPORTS
from diffcheck.selftest.ptx_run import MutatedArm, MutatedOxideArm
from tests.faults.support import assert_holds

ROOT = Path(__file__).resolve().parents[2]
TESTS = sorted({test for fault in all_faults() for test in fault.tests})


def test_every_report_is_accounted_for_exactly_once() -> None:
    found = Counter(report for fault in all_faults() for report in fault.reports)
    assert found == Counter(REPORTS)
    assert set(found.values()) == {1}
    assert all(re.fullmatch(r"\S+( PR)? \d+", report) for report in REPORTS)


def test_every_fault_is_covered_or_says_what_it_waits_for() -> None:
    for fault in all_faults():
        covered = bool(fault.cases or fault.tests or fault.commands)
        assert covered == (fault.status in {"covered", "in part"}), fault.name
        assert fault.input, fault.name
        assert fault.right, fault.name


def test_the_suite_is_what_the_faults_name() -> None:
    assert {case.name for case in select("faults")} == set(fault_cases())
    for name, case in fault_cases().items():
        assert get_case(name).suites[-1:] == case.suites


def collected(paths: list[str]) -> set[str]:
    """The pytest node ids in some files, without parameters."""
    # Tests beside the driver of the tests are collected by themselves, as they run.
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}


def test_every_python_test_exists() -> None:
    named = {test for test in TESTS if ".py::" in test}
    assert named
    assert named - collected(sorted({test.partition("::")[0] for test in named})) == set()


@pytest.mark.parametrize("test", [test for test in TESTS if ".rs::" in test])
def test_every_rust_test_exists(test: str) -> None:
    path, _, name = test.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"#\[test\]\s+fn {name}\(", text), f"{path} has no test {name}"


def test_every_test_is_of_a_known_kind() -> None:
    assert all(re.fullmatch(r"[\w/]+\.(py|rs)::\w+", test) for test in TESTS)


@pytest.mark.parametrize("command", sorted({command for fault in all_faults() for command in fault.commands}))
def test_every_command_exists(command: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "diffcheck"
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    chosen = group.commands[arguments[0]]
    assert chosen.make_context(arguments[0], arguments[1:]).info_name == arguments[0]


@pytest.mark.parametrize("topic", sorted({fault.topic for fault in all_faults()}))
def test_the_page_has_the_table(topic: str) -> None:
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    assert fault_table() in page, "run: diffcheck list faults --markdown, and put what it prints into docs/faults.md"
    assert all(fault.name in page for fault in all_faults() if fault.topic == topic)


def test_a_fault_waits_or_not_by_what_it_says() -> None:
    made = Fault("f", "indexing", ("a 1",), "i", "r")
    assert made.status == "covered"
    assert Fault("f", "indexing", ("a 1",), "i", "r", waits_for="pages").status == "waiting"
    assert Fault("f", "indexing", ("a 1",), "i", "r", tests=("t",), waits_for="pages").status == "in part"


COEFFICIENT = re.compile("0f3EFFFFFE", re.IGNORECASE)


def one_digit_off(text: str) -> str:
    """The coefficient of the square in the exponential, wrong in its last digit."""
    edited, count = COEFFICIENT.subn("0f3EFFFFF0", text)
    assert count, "the coefficient is written in another way"
    return edited


def test_the_properties_can_fail() -> None:
    """Kernels that are a little wrong fail what every property asks."""
    case = get_case("random-8x2-L65-f16")
    for arm in (MutatedArm(one_digit_off), MutatedOxideArm(one_digit_off)):
        with pytest.raises(AssertionError, match=f"bits: {arm.name} against twin"):
            assert_holds(case, MachineExecutor(1), (arm,))
    assert_holds(case, MachineExecutor(1), (BuilderArm(), OxideArm()))
