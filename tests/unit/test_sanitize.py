"""The planted faults in the PTX machine, and what is made of compute-sanitizer's words, which a script speaks here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from diffcheck.assemble.ptxas import assemble_all_entries
from diffcheck.cases import select
from diffcheck.cli.main import run
from diffcheck.errors import BadInputError, MissingRequirementError
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.sanitize import arms, compute_sanitizer, planted
from diffcheck.sanitize.compute_sanitizer import Child, find_sanitizer, read_log, run_under
from diffcheck.sanitize.machine import run_in_machine
from diffcheck.sanitize.model import PlantedResult, SanitizeReceipt, ToolVerdict, what_fails
from diffcheck.sanitize.registry import VERSIONS, Planted, ToolName, planted_fault, planted_faults

EVIDENCE = Path(__file__).parents[2] / "evidence"


@pytest.mark.parametrize("fault", planted_faults(), ids=lambda fault: fault.name)
def test_the_machine_reports_the_faulty_version_and_not_the_right_one(fault: Planted) -> None:
    faulty, right = (run_in_machine(fault, version) for version in VERSIONS)
    assert faulty.fault == fault.machine, faulty.message
    assert f"{fault.name}.ptx:" in faulty.message
    assert right.fault is None, right.message


@pytest.mark.parametrize("fault", planted_faults(), ids=lambda fault: fault.name)
def test_an_assembler_accepts_both_versions(fault: Planted) -> None:
    assert set(assemble_all_entries(fault.ptx, VERSIONS, "sm_90")) == set(VERSIONS)


def test_enough_faults_can_be_agreed_on() -> None:
    covered = [fault.tool for fault in planted_faults() if fault.tool is not None]
    assert len(covered) >= 10
    assert set(covered) == {"memcheck", "racecheck", "initcheck", "synccheck"}


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(BadInputError, match="global_read_past_end"):
        planted_fault("global_read_past_edn")


def test_the_cases_that_the_arms_run_exist() -> None:
    assert {case.name for case in select(None, arms.DEFAULT_CASES)} == set(arms.DEFAULT_CASES)


CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
WHERE = "=========     at faulty+0x120\n=========     by thread (50,0,0) in block (0,0,0)\n"
MEMCHECK = f"""\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
{WHERE}=========     Address 0x7f3c7ec000c8 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f3c7ec00000 of size 200 bytes
=========
========= Invalid __global__ write of size 4 bytes
{WHERE}=========
========= ERROR SUMMARY: 2 errors
"""
RACE = "Warning: Race reported between Write access at faulty+0xb0"
AND = "and Read access at faulty+0xd0 [252 hazards]"
DIVERGENT = "Barrier error detected. Divergent thread(s) in warp."
UNSET = "Uninitialized __shared__ memory read of size 4 bytes"
RACECHECK = f"""\
========= COMPUTE-SANITIZER
========= {RACE}
=========     {AND}
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""


@pytest.mark.parametrize(
    ("tool", "log", "findings", "reports"),
    [
        ("memcheck", CLEAN, 0, []),
        ("memcheck", MEMCHECK, 2, ["Invalid __global__ write of size 4 bytes at faulty+0x120"]),
        ("racecheck", RACECHECK, 1, [f"{RACE} {AND}"]),
        ("racecheck", "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", 0, []),
        (
            "synccheck",
            f"========= {DIVERGENT}\n{WHERE}========= ERROR SUMMARY: 32 errors\n",
            32,
            [f"{DIVERGENT} at faulty+0x120"],
        ),
        (
            "initcheck",
            f"========= {UNSET}\n{WHERE}========= ERROR SUMMARY: 1 error\n",
            1,
            [f"{UNSET} at faulty+0x120"],
        ),
    ],
)
def test_a_log_is_read(tool: ToolName, log: str, findings: int, reports: list[str]) -> None:
    verdict = read_log(tool, log)
    assert (verdict.findings, list(verdict.reports), verdict.problem) == (findings, reports, "")
    assert verdict.is_clean == (findings == 0)


@pytest.mark.parametrize("log", ["", "========= COMPUTE-SANITIZER\n========= Error: process didn't terminate\n"])
def test_a_log_without_a_summary_tells_nothing(log: str) -> None:
    verdict = read_log("memcheck", log)
    assert verdict.findings is None
    assert verdict.problem == "memcheck wrote no summary" + (": Error: process didn't terminate" if log else "")
    assert not verdict.is_clean


# Stands in for compute-sanitizer: runs the command behind the options, and writes a log that the test has prepared.
SPEAKER = f"""\
#!{sys.executable}
import os, pathlib, subprocess, sys

arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2026.4.0.0 (build 1) (public-release)")
elif arguments == ["--help"]:
    print("  --initcheck-address-space arg (=global)")
else:
    command = arguments[arguments.index(sys.executable):]
    code = subprocess.run(command).returncode
    pathlib.Path(os.environ["SPOKEN_OPTIONS"]).write_text(" ".join(arguments[: -len(command)]))
    pathlib.Path(arguments[arguments.index("--log-file") + 1]).write_text(os.environ["SPOKEN_LOG"])
    sys.exit(code)
"""


@pytest.fixture
def speaker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the stand-in on PATH; the file that it writes its options to."""
    program = tmp_path / "compute-sanitizer"
    program.write_text(SPEAKER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SPOKEN_LOG", CLEAN)
    monkeypatch.setenv("SPOKEN_OPTIONS", str(tmp_path / "options"))
    cached = (find_sanitizer, compute_sanitizer.sanitizer_version, compute_sanitizer.watches_shared_memory)
    for function in cached:
        function.cache_clear()
    yield tmp_path / "options"
    for function in cached:
        function.cache_clear()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_command_runs_under_a_tool(speaker: Path) -> None:
    assert compute_sanitizer.sanitizer_version() == "2026.4.0.0"
    child = run_under("initcheck", python("print('ran')"), timeout_s=60, shared=True)
    assert child.stdout == "ran\n"
    assert child.verdict.is_clean
    options = speaker.read_text()
    assert options.startswith("--tool initcheck --log-file ")
    assert "--initcheck-address-space shared" in options


def test_a_command_that_fails_tells_nothing(speaker: Path) -> None:
    child = run_under("memcheck", python("raise SystemExit('no device')"), timeout_s=60)
    assert child.verdict.problem == "exit 1: no device"
    assert not child.verdict.is_clean


def test_a_command_that_hangs_is_ended_with_its_children(speaker: Path, tmp_path: Path) -> None:
    waits = f"import pathlib, time; time.sleep(60); pathlib.Path({str(tmp_path / 'late')!r}).touch()"
    child = run_under("memcheck", python(waits), timeout_s=2)
    assert child.verdict.problem == "did not end in 2 s"


def test_the_program_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_sanitizer.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(compute_sanitizer, "PACKAGE", "no-such-package")
    with pytest.raises(MissingRequirementError, match="compute-sanitizer is not here"):
        find_sanitizer()
    find_sanitizer.cache_clear()


def verdict(*reports: str, problem: str = "") -> ToolVerdict:
    return ToolVerdict(tool="memcheck", findings=len(reports), reports=reports, problem=problem, seconds=1.0)


FOUND = verdict("Invalid __global__ read of size 4 bytes at faulty+0x50")


def judged(monkeypatch: pytest.MonkeyPatch, faulty: ToolVerdict, right: ToolVerdict) -> PlantedResult:
    """One planted fault where the tool says these things."""

    def spoken(tool: ToolName, command: list[str], timeout_s: float, shared: bool) -> Child:
        return Child('{"planted": ""}\n', faulty if command[-1] == "faulty" else right)

    monkeypatch.setattr(planted, "run_under", spoken)
    fault = planted_fault("global_read_past_end")
    (result,) = planted.run_planted([fault], missing="", workers=1, done=lambda name: None)
    return result


def test_machine_and_tool_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    result = judged(monkeypatch, FOUND, verdict())
    assert (result.agreement, result.machine_faulty.fault) == ("agree", "out-of-bounds")
    assert what_fails([result], [], asked=True, named=True) == []


@pytest.mark.parametrize(
    ("faulty", "right"),
    [
        (verdict(), verdict()),
        (verdict("Invalid __shared__ read of size 4 bytes"), verdict()),
        (FOUND, FOUND),
        (FOUND, verdict(problem="did not end in 90 s")),
    ],
    ids=["silent", "another report", "a report of the right version", "no verdict of the right version"],
)
def test_machine_and_tool_differ(monkeypatch: pytest.MonkeyPatch, faulty: ToolVerdict, right: ToolVerdict) -> None:
    result = judged(monkeypatch, faulty, right)
    assert result.agreement == "differ"
    assert "global_read_past_end: memcheck does not say what the machine says" in what_fails(
        [result], [], asked=True, named=True
    )


def test_a_process_that_launched_nothing_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planted, "run_under", lambda *_, shared: Child("", verdict()))
    fault = planted_fault("global_read_past_end")
    (result,) = planted.run_planted([fault], missing="", workers=1, done=lambda name: None)
    assert result.tool_right is not None
    assert result.tool_right.problem == "the kernel was not launched"
    assert result.agreement == "differ"


LAUNCHED = '{"case": "random-8x2-L1-f16", "arm": "builder", "bits": %s}\n'


@pytest.mark.parametrize(
    ("stdout", "said", "status"),
    [
        (LAUNCHED % "true", verdict(), "holds"),
        (LAUNCHED % "null", verdict(), "holds"),
        (LAUNCHED % "false", verdict(), "fails"),
        (LAUNCHED % "true", FOUND, "fails"),
        ("", verdict(), "fails"),
    ],
)
def test_arms_hold_when_nothing_is_reported(
    monkeypatch: pytest.MonkeyPatch, stdout: str, said: ToolVerdict, status: str
) -> None:
    monkeypatch.setattr(arms, "run_under", lambda *_: Child(stdout, said))
    done: list[str] = []
    cases, names = ["random-8x2-L1-f16"], ["builder"]
    results = arms.run_arms(cases, names, target="sm_90", profile="h200", workers=1, done=done.append)
    assert sorted(done) == ["initcheck", "memcheck", "racecheck", "synccheck"]
    assert [result.status for result in results] == [status] * 4
    assert len(what_fails([], results, asked=True, named=True)) == (4 if status == "fails" else 0)


@pytest.fixture
def no_gpu() -> None:
    if GpuExecutor().available():
        pytest.skip("a GPU is here")


@pytest.mark.usefixtures("no_gpu")
def test_the_machine_alone_is_asked_without_a_gpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sanitize.json"
    assert run(["sanitize", "--name", "misaligned_shared", "--receipt", str(path)]) == 0
    assert "compute-sanitizer was not asked: " in capsys.readouterr().out
    receipt = SanitizeReceipt.model_validate(json.loads(path.read_text()))
    assert [(result.name, result.agreement) for result in receipt.planted] == [("misaligned_shared", "not-run")]
    assert (receipt.device, receipt.arms, receipt.status) == (None, (), "holds")


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("arguments", [["--arms"], ["--planted", "--require-gpu"]])
def test_what_needs_a_gpu_says_so(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sanitize", *arguments]) == 2
    error = capsys.readouterr().err
    assert "compute-sanitizer cannot run here" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--name", "rase"], ["planted", "'rase'", "race_between_warps"]),
        (["--case", "no-such"], ["case", "'no-such'"]),
        (["--arm", "oxyde"], ["arm", "'oxyde'"]),
        (["--workers", "0"], ["--workers"]),
        (["--target", "sm_70"], ["target", "'sm_70'"]),
    ],
)
def test_bad_input(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sanitize", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(word in error for word in words)


def test_a_status_that_contradicts_the_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sanitize.json"
    run(["sanitize", "--planted", "--name", "misaligned_shared", "--receipt", str(path)])
    facts = json.loads(path.read_text())
    facts["planted"][0]["machine_faulty"]["fault"] = None
    with pytest.raises(ValidationError, match="contradicts the results"):
        SanitizeReceipt.model_validate(facts)


def test_kept_receipts_can_be_read() -> None:
    for path in EVIDENCE.glob("sanitize*.json"):
        assert SanitizeReceipt.model_validate(json.loads(path.read_text())).status == "holds"


KEPT = EVIDENCE / "sanitize-h200.json"


def _kept() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(KEPT.read_text())
    return made


def _with(**changes: Any) -> dict[str, Any]:
    return {**_kept(), **changes}


AGREED = [one for one in _kept()["planted"] if one["agreement"] == "agree"]


def _launched_less(places: slice) -> dict[str, Any]:
    made = _kept()
    made["arms"][1]["launched"] = made["arms"][1]["launched"][places]
    return made


def _launched_twice() -> dict[str, Any]:
    made = _kept()
    made["arms"][1]["launched"] *= 2
    return made


@pytest.mark.parametrize(
    ("made", "wrong"),
    [
        (_with(planted=AGREED[:1] * 10), f"planted: {AGREED[0]['name']} is there twice"),
        (_with(planted=AGREED[:1]), "status: holds contradicts the results, which say fails"),
        (_with(planted=AGREED[:9]), "status: holds contradicts the results, which say fails"),
        (_with(planted=[]), "planted: 0 faults, and the command asks for them"),
        (_with(arms=[]), "arms: ran under 0 tools, and the command asks for them"),
        (_with(arms=_kept()["arms"][:1]), "arms: ran under memcheck; a run is under memcheck, racecheck, initcheck, "),
        (_with(arms=_kept()["arms"][:1] * 4), "arms: memcheck is there twice"),
        (_with(command=["sanitize", "--arms"]), "planted: 23 faults, and the command does not ask for them"),
        (_with(command=["sanitize", "--planted"]), "arms: ran under 4 tools, and the command does not ask for them"),
        (_launched_twice(), "launched: random-8x2-L1-f16 of builder is there twice under racecheck"),
        (_launched_less(slice(1, None)), "launched: memcheck and racecheck did not see the same cases"),
    ],
)
def test_a_receipt_of_less_than_was_asked_for_is_refused(made: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        SanitizeReceipt.model_validate(made)


@pytest.mark.parametrize("name", [["--name", AGREED[0]["name"]], [f"--name={AGREED[0]['name']}"]])
def test_fewer_faults_hold_where_the_command_names_them(name: list[str]) -> None:
    command = ["sanitize", "--planted", *name]
    assert SanitizeReceipt.model_validate(_with(command=command, planted=AGREED[:1], arms=[])).agreements == 1


def test_a_receipt_has_the_command_that_was_run(tmp_path: Path) -> None:
    path = tmp_path / "sanitize.json"
    command = ["sanitize", "--planted", "--name", "misaligned_shared", "--receipt", str(path)]
    assert run(command) == 0
    assert json.loads(path.read_text())["command"] == [*command[:-1], "sanitize.json"]
