"""The command line: exit codes, one-line errors, JSON files. The long commands run on one small case."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from diffcheck.cases import select
from diffcheck.cli.main import run
from diffcheck.cli.options import choose_of_suites
from diffcheck.cli.parity import scheduled
from diffcheck.errors import BadInputError
from diffcheck.executors import get_executor
from diffcheck.receipts.model import read_receipt

ROOT = Path(__file__).resolve().parents[2]
CASE = "random-8x2-L65-f16"


@pytest.mark.parametrize("what", ["cases", "arms", "suites", "mutants", "faults"])
def test_list(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "list.json"
    assert run(["list", what, "--json", str(path)]) == 0
    listed = json.loads(path.read_text())
    assert listed["kind"] == what
    out = capsys.readouterr().out
    # A long name may be folded.
    assert all(item["name"][:24] in out for item in listed["items"])
    assert listed["items"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list", "verdicts"], ["what", "'verdicts'", "cases, arms"]),
        (["parity", "--suite", "huge"], ["suite", "'huge'", "quick, matrix, rungs, kernels, faults"]),
        (["parity", "--case", "random-8x2-L65-f61"], ["case", "random-8x2-L65-f16"]),
        (["parity", "--case", "zz*"], ["case", "'zz*'"]),
        (["parity", "--arm", "oxyde"], ["arm", "'oxyde'", "twin, builder, "]),
        (["parity", "--arm", "naive-f16", "--case", "random-8x2-L65-f32"], ["arm", "'naive-f16'", "storage f32"]),
        (["parity", "--arm", "twin"], ["arm", "at least one arm that is made of kernels"]),
        (["parity", "--executor", "tpu"], ["executor", "'tpu'", "machine, gpu, auto"]),
        (["parity", "--executor", "machine", "--target", "sm_70"], ["target", "'sm_70'", "sm_80, sm_89"]),
        (["parity", "--executor", "machine", "--profile", "h900"], ["profile", "'h900'", "h200"]),
        (["parity", "--executor", "machine", "--schedule", "-1"], ["--schedule", "equal to 0"]),
        (["parity", "--rounds", "3"], ["--rounds"]),
        (["ptx", "--arm", "twin"], ["arm", "'twin'"]),
        (["ptx", "--entry", "no_such"], ["entry", "'no_such'", "splitk_reduce_d256"]),
        (["selftest", "--mutant", "no-such"], ["mutant", "'no-such'", "`diffcheck list mutants`"]),
        (["selftest", "--mutant", "one-ulp-damag"], ["mutant", "'one-ulp-damag'", "such as one-ulp-damage"]),
        (["parity", "--suite", "quick", "--case", "random-16x4-*"], ["case", "'random-16x4-*'", "quick", "in: matrix"]),
        (["assemble", "--target", "sm_70"], ["target", "'sm_70'"]),
        (["receipt", "show", "/no/such/file"], ["receipt", "/no/such/file"]),
        (["no-such-command"], ["no-such-command"]),
        (["timing", "--rounds", "1"], ["--rounds"]),
        # Names are looked at before a GPU is.
        (["timing", "--arm", "nope"], ["arm", "'nope'", "builder, oxide"]),
        (["timing", "--arm", "naive"], ["arm", "'naive'", "the reference's bits"]),
        (["timing", "--suite", "nope"], ["suite", "'nope'", "quick, matrix, rungs"]),
        (["timing", "--case", "nope"], ["case", "'nope'"]),
        (["timing", "--case", "random-8x2-L65-f16-packed"], ["case", "the layout packed"]),
        (["timing", "--target", "sm_70"], ["target", "'sm_70'", "sm_80, sm_89"]),
        (["timing", "--profile", "nope"], ["profile", "'nope'", "h200"]),
        (["timing", "--tiles", "/no/such/file"], ["tiles", "/no/such/file"]),
        (["toolchain", "--target", "sm_70"], ["target", "'sm_70'", "sm_80, sm_89"]),
        (["toolchain", "--profile", "nope"], ["profile", "'nope'", "h200"]),
        (["parity", "--executor", "gpu", "--arm", "nope"], ["arm", "'nope'", "builder, oxide"]),
        (["parity", "--executor", "gpu", "--target", "sm_70"], ["target", "'sm_70'", "sm_80, sm_89"]),
        (["parity", "--executor", "gpu", "--profile", "nope"], ["profile", "'nope'", "h200"]),
        (["parity", "--executor", "gpu", "--unlike", "sm_70"], ["target", "'sm_70'", "sm_80, sm_89"]),
        (["ab", "promote-oxide", "--host", "nope"], ["host", "'nope'", "rtx4090"]),
        (["ab", "promote-oxide", "--output", "/dev/null"], ["file", "'/dev/null'"]),
        (["mutants", "--seed", "-1"], ["--seed", "0"]),
        (["mutants", "--jobs", "-1"], ["--jobs", "0"]),
        (["assemble", "--arm", "twin"], ["arm", "'twin'", "at least one arm that is made of kernels"]),
        (["parity", "--executor", "machine", "--target", ""], ["target", "''", "sm_80, sm_89"]),
        (["parity", "--executor", "machine", "--profile", ""], ["profile", "''", "h200"]),
        (["parity", "--suite", ""], ["suite", "''", "quick, matrix, rungs, kernels, faults"]),
        (["parity", "--json", "/dev/null"], ["file", "'/dev/null'", "a new file or a regular one"]),
        (["parity", "--json", "/proc/no-such-file"], ["file", "'/proc/no-such-file'", "can be written"]),
        (["parity", "--json", "same.json", "--receipt", "same.json"], ["file", "'same.json'", "another file"]),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err


@pytest.mark.parametrize("command", ["list", "parity", "selftest", "assemble", "ptx", "timing", "receipt"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["receipt"], ["oxide"], ["opcodes"]])
def test_no_command_prints_the_help_as_it_is(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.lstrip().startswith("Usage: diffcheck")
    assert "\nCommands:\n" in captured.err


def test_the_package_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "diffcheck", "--version"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith("diffcheck ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert "contract splitk/1" in capsys.readouterr().out


def test_ptx_prints_one_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.json"
    assert run(["ptx", "--entry", "splitk_reduce_d256", "--target", "sm_121", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert ".target sm_121" in out
    assert out.count(".entry") == 1
    assert json.loads(path.read_text())["kernels"][0]["ptx"] == out


def test_parity_holds_and_leaves_a_receipt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, receipt = tmp_path / "found.json", tmp_path / "deep" / "receipt.json"
    arguments = ["parity", "--case", CASE, "--executor", "machine", "--json", str(found), "--receipt", str(receipt)]
    assert run(arguments) == 0
    made = read_receipt(receipt)
    assert made.status == "holds"
    assert made.interpreted is not None
    assert made.measured is None
    (case,) = made.interpreted.cases
    assert {check.name for check in case.checks} == {"bits", "oracle", "scratch", "naive", "split-naive", "memory"}
    assert json.loads(found.read_text())["status"] == "holds"
    out = capsys.readouterr()
    assert CASE in out.out
    assert not out.err, "no progress bar in a pipe"
    assert run(["receipt", "show", str(receipt)]) == 0


def test_parity_holds_in_any_order_of_execution() -> None:
    assert run(["parity", "--case", CASE, "--executor", "machine", "--schedule", "3"]) == 0
    with pytest.raises(BadInputError, match=r"^schedule: '3' .*the machine takes no part"):
        scheduled([get_executor("gpu")], 3)


def test_unwritable_file_is_refused_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["parity", "--receipt", str(tmp_path)]) == 2
    assert "not of a folder" in capsys.readouterr().err


def test_a_dash_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["parity", "--case", CASE, "--executor", "machine", "--json", "-"]) == 2
    assert capsys.readouterr().err.startswith("diffcheck: file: '-' is not allowed; allowed: the path of a file")
    assert list(tmp_path.iterdir()) == []


def test_a_case_of_two_suites_is_chosen_once() -> None:
    both = choose_of_suites(["matrix", "faults"], None)
    assert len(set(both)) == len(both)
    assert set(both) == {*select("matrix"), *select("faults")}
    assert choose_of_suites(None, None) == select("quick")
    assert [case.name for case in choose_of_suites(["matrix", "quick"], [CASE])] == [CASE]


def test_interruption_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("diffcheck.cli.parity.run_suite", interrupt)
    assert run(["parity", "--case", CASE, "--executor", "machine", "--receipt", str(tmp_path / "r.json")]) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
@pytest.mark.parametrize("arguments", [["--suite", "matrix"], ["--case", "random-24x4-L60000-f16"]])
def test_a_signal_ends_a_run_at_once(arguments: list[str], tmp_path: Path) -> None:
    program = "from diffcheck.cli import main; print('ready', flush=True); main()"
    command = [sys.executable, "-c", program, "parity", *arguments, "--executor", "machine"]
    receipt = tmp_path / "r.json"
    with subprocess.Popen(
        [*command, "--receipt", str(receipt)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "diffcheck: interrupted; no result was written\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["timing"], ["parity", "--executor", "gpu"]])
def test_without_a_gpu_the_reason_is_given(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if get_executor("gpu").available():
        pytest.skip("there is a GPU here")
    assert run(command) == 2
    assert get_executor("gpu").available().reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "redirection", "code", "says"),
    [
        ("decide promote-oxide --expect HOLD", ">/dev/full", 2, "standard output cannot be written"),
        ("--version", ">/dev/full", 2, "standard output cannot be written"),
        ("decide promote-oxide --expect HOLD", ">&-", 0, ""),
        ("decide promote-oxide --expect PROMOTE", ">&- 2>&-", 1, ""),
    ],
)
def test_an_output_that_takes_nothing(words: str, redirection: str, code: int, says: str) -> None:
    program = "from diffcheck.cli.main import main; main()"
    shell = f"exec {shlex.quote(sys.executable)} -c {shlex.quote(program)} {words} {redirection}"
    done = subprocess.run(shell, shell=True, cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == code
    assert done.stderr.count("\n") == bool(says)
    assert says in done.stderr
