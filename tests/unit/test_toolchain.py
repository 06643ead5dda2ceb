"""Builds: what is compared, what counts as a difference, and where ptxas is found. The device is a PTX machine here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from diffcheck.arms import BuilderArm, NaiveArm, OxideArm, reference_arm
from diffcheck.assemble.ptxas import find_ptxas
from diffcheck.cases import get_case
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError
from diffcheck.executors import ExecutionError, Executor
from diffcheck.executors.builds import Build
from diffcheck.executors.machine import MachineExecutor
from diffcheck.executors.program import Outcome, Program
from diffcheck.receipts.model import Measured, read_receipt
from diffcheck.toolchain.model import BuildResult, Toolchain
from diffcheck.toolchain.run import Request, assembly_jobs, run_builds

EVIDENCE = Path(__file__).resolve().parents[2] / "evidence"
CASES = ("random-8x2-L65-f16", "merge-kept-8x2-S9")


class Damaging(MachineExecutor):
    """A build that changes one word of a buffer in the last place, or faults where `buffer` is empty."""

    def __init__(self, buffer: str) -> None:
        super().__init__(threads=1)
        self.buffer = buffer

    def run(self, program: Program) -> Outcome:
        if not self.buffer:
            raise ExecutionError(f"{program.name}: refused")
        outcome = super().run(program)
        if self.buffer not in outcome.memory or program.inputs.buffers[0].name == self.buffer:
            return outcome
        memory = {name: words.copy() for name, words in outcome.memory.items()}
        memory[self.buffer].view(np.uint32)[70] ^= 1
        out = program.outputs.out
        return replace(outcome, memory=memory, out=out.over(memory[out.buffer.name]))


def request(executors: Mapping[Build, Executor], cases: tuple[str, ...] = CASES) -> Request:
    arms = (BuilderArm(), OxideArm(), NaiveArm())
    return Request([get_case(name) for name in cases], arms, reference_arm(), executors, "sm_90", "h200")


def ignore(_case: str) -> None:
    pass


def test_builds_that_agree_hold() -> None:
    results = run_builds(request({"jit": MachineExecutor(1), "cubin-O0": MachineExecutor(1)}), ignore)
    assert [(one.arm, one.build, one.cases, one.failures) for one in results] == [
        ("builder", "jit", 2, ()),
        ("builder", "cubin-O0", 2, ()),
        ("oxide", "jit", 2, ()),
        ("oxide", "cubin-O0", 2, ()),
    ]
    out = 8 * 256
    scratch = 8 * 2 * (2 + 256)  # the first case's; the second has no scratch, only inputs
    assert [one.words for one in results] == [2 * out, 2 * 2 * out + scratch] * 2


@pytest.mark.parametrize(
    ("buffer", "line"),
    [
        ("out", "random-8x2-L65-f16: against the twin: query head 0, index 6: "),
        ("part_acc", "random-8x2-L65-f16: against the first build's part_acc: query head 0, index 6: "),
        ("", "random-8x2-L65-f16: refused"),
    ],
)
def test_a_build_that_differs_is_named(buffer: str, line: str) -> None:
    made = request({"jit": MachineExecutor(1), "cubin-O3": Damaging(buffer)}, CASES[:1])
    results = {(one.arm, one.build): one for one in run_builds(made, ignore)}
    assert not results["builder", "jit"].failures
    (failure,) = results["builder", "cubin-O3"].failures
    assert failure.startswith(line)


def test_a_run_over_nothing_is_refused() -> None:
    with pytest.raises(BadInputError, match="at least one case"):
        run_builds(request({"jit": MachineExecutor(1)}, ()), ignore)
    with pytest.raises(BadInputError, match="the reference's bits"):
        run_builds(replace(request({"jit": MachineExecutor(1)}), arms=(NaiveArm(),)), ignore)


def test_each_text_is_assembled_once_a_build() -> None:
    executors: dict[Build, Executor] = {"jit": MachineExecutor(1), "cubin-O0": MachineExecutor(1)}
    jobs = assembly_jobs(request(executors, (*CASES, "needles-8x2-L203-f16")))
    assert {job.build for job in jobs} == {"cubin-O0"}
    assert len({job.text for job in jobs}) == len(jobs) == 4  # f16 and, for the merge, f32; of two arms


FACTS = {
    "device": "d",
    "arch": "sm_90",
    "sms": 132,
    "driver_version": "13.0",
    "runtime_version": "13.0",
    "cupy_version": "14",
    "target": "sm_90",
}


def result(**changes: object) -> BuildResult:
    made = {"arm": "builder", "build": "jit", "programs": 1, "cases": 1, "words": 10, "failures": ()}
    return BuildResult.model_validate({**made, **changes})


@pytest.mark.parametrize("wrong", [result(failures=("differs",)), result(words=0)])
def test_a_status_follows_from_the_results(wrong: BuildResult) -> None:
    made = {
        **FACTS,
        "tool_version": "0",
        "command": ["toolchain"],
        "tree": {"commit": None, "dirty": None},
        "ptxas_version": None,
        "profile": "h200",
        "cases": ["a"],
    }
    Toolchain.model_validate({**made, "status": "holds", "results": [result()]})
    with pytest.raises(ValidationError, match="contradicts the results"):
        Toolchain.model_validate({**made, "status": "holds", "results": [result(), wrong]})


KEPT: dict[str, Any] = json.loads((EVIDENCE / "toolchain-h200.json").read_text())


def _result(place: int, **changes: Any) -> dict[str, Any]:
    results = [{**one, **(changes if at == place else {})} for at, one in enumerate(KEPT["results"])]
    return {**KEPT, "results": results}


def _of_all(**changes: Any) -> dict[str, Any]:
    return {**KEPT, "results": [{**one, **changes} for one in KEPT["results"]]}


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        ({**KEPT, "cases": [*KEPT["cases"], KEPT["cases"][0]]}, f"cases: {KEPT['cases'][0]} is there twice"),
        ({**KEPT, "results": [*KEPT["results"], KEPT["results"][0]]}, "results: builder by jit is there twice"),
        (
            {**KEPT, "results": KEPT["results"][:-1]},
            "results: oxide ran by jit, .* and builder by jit, cubin-O0, cubin",
        ),
        (_of_all(cases=1, programs=1, words=1), "results: builder by jit ran 1 cases of 185"),
        (_result(3, cases=184), "results: builder by cubin-O2 ran 184 cases of 185"),
        (_of_all(programs=0), "programs: 0 texts of builder by jit for 185 cases"),
        (_result(1, programs=16), "results: builder by cubin-O0 ran 16 texts, and builder by jit 17"),
        (_result(0, words=184), "words: 184 of builder by jit in 185 cases"),
        (_result(6, words=723_967), "words: 723967 of oxide by cubin-O0, and twice 361984 are of outputs alone"),
        (_result(7, words=723_968), "words: 723968 of oxide by cubin-O1, and 14341724 of oxide by cubin-O0"),
        ({**KEPT, "ptxas_version": None}, "ptxas_version: None contradicts the builds"),
    ],
)
def test_a_receipt_of_fewer_cases_or_builds_than_it_names_is_refused(made: dict[str, Any], wrong: str) -> None:
    assert Toolchain.model_validate(KEPT).status == "holds"
    with pytest.raises(ValidationError, match=wrong):
        Toolchain.model_validate(made)


@pytest.mark.parametrize(("build", "ptxas"), [("jit", "13.0"), ("cubin-O0", None)])
def test_a_receipt_names_ptxas_exactly_where_it_assembled(build: str, ptxas: str | None) -> None:
    receipt = read_receipt(EVIDENCE / "parity-rungs-h200.json")
    assert receipt.measured is not None
    # Written before builds were recorded.
    assert (receipt.measured.build, receipt.measured.ptxas_version) == ("jit", None)
    facts = receipt.measured.model_dump()
    assert Measured.model_validate({**facts, "build": "cubin-O0", "ptxas_version": "13.0"}).build == "cubin-O0"
    with pytest.raises(ValidationError, match="contradicts the build"):
        Measured.model_validate({**facts, "build": build, "ptxas_version": ptxas})


def test_ptxas_on_the_path_does_where_the_package_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "ptxas"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("diffcheck.assemble.ptxas.PACKAGE", "a-package-that-does-not-exist")
    monkeypatch.setenv("PATH", str(tmp_path))
    find_ptxas.cache_clear()
    assert find_ptxas() == program
    find_ptxas.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["toolchain", "--build", "nvrtc"], ["build", "'nvrtc'", "jit, cubin-O0"]),
        (["toolchain", "--suite", "huge"], ["suite", "'huge'"]),
        (["parity", "--build", "cubin", "--executor", "machine"], ["build", "'cubin'", "jit, cubin-O0"]),
        (["parity", "--build", "jit", "--executor", "machine"], ["build", "'jit'", "no GPU takes part"]),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert all(word in err for word in words)
