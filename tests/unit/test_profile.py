"""`diffcheck profile`: Nsight Compute's page of numbers, its pairing with what was launched, and the table."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from diffcheck.cli.main import run
from diffcheck.errors import DiffcheckError, MissingRequirementError
from diffcheck.profile import target
from diffcheck.profile.model import Launched, Metric, Profile, Profiled
from diffcheck.profile.ncu import Counted, find_ncu, ncu_version, read_raw_page, run_under_ncu
from diffcheck.profile.run import paired, read_launched
from diffcheck.profile.table import profile_table, stalls
from diffcheck.receipts.ab.host import AbTool, SourceState
from tests.factory.tune import HOST

PARITY = Path(__file__).resolve().parents[2] / "evidence" / "parity-rungs-h200.json"
PARTIAL, REDUCE = "splitk_partial_f16_g4_d256_w12r4", "splitk_reduce_d256"
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# As ncu 2025.3 prints its raw page: names, units, launches, between lines of its own.
PAGE = f"""\
==PROF== Connected to process 4242 (/usr/bin/python3.12)
==PROF== Profiling "{PARTIAL}" - 0: 0%....50%....100% - 39 passes
==PROF== Disconnected from process 4242
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",\
"gpu__time_duration.sum","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","launch__registers_per_thread",\
"launch__func_cache_config","{STALLED.format("long_scoreboard")}","{STALLED.format("selected")}","smsp__inst_executed.sum"
"","","","","","","","","","","","ns","%","register/thread","","inst","inst","inst"
"0","4242","python3.12","127.0.0.1","{PARTIAL}","1","7","(384, 1, 1)","(4, 33, 1)","0","9.0",\
"57,024","91.5","127","CachePreferNone","6","2","12,345,678"
"1","4242","python3.12","127.0.0.1","{PARTIAL}","1","7","(384, 1, 1)","(4, 33, 1)","0","9.0",\
"58112","90","n/a","CachePreferNone","nan","2","12345678"
"""


def launched(entry: str = PARTIAL, arm: str = "builder") -> Launched:
    return Launched(
        case="random-16x4-L60000-f16",
        num_q_heads=16,
        num_kv_heads=4,
        kv_len=60_000,
        storage="f16",
        arm=arm,
        entry=entry,
        ptx_sha256="0" * 64,
    )


def receipt(*launches: Profiled) -> Profile:
    state = SourceState(origin="unknown", commit=None, dirty=None, dirty_paths=None)
    tool = AbTool(version="1", command=("profile",), source=state)
    return Profile(
        tool=tool, contract="1", host=HOST, target="sm_90", profile="h200", ncu_version="2025.3", launches=launches
    )


def test_a_page_is_read() -> None:
    first, second = read_raw_page(PAGE)
    assert (first.kernel, second.kernel) == (PARTIAL, PARTIAL)
    assert first.metrics["gpu__time_duration.sum"] == Metric(value=57024.0, unit="ns")
    assert first.metrics["smsp__inst_executed.sum"].value == 12_345_678
    assert "launch__func_cache_config" not in first.metrics
    assert not {"ID", "CC", "Stream"} & set(first.metrics)
    assert sorted(second.metrics) == [
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__time_duration.sum",
        "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
        "smsp__inst_executed.sum",
    ]


@pytest.mark.parametrize("lines", [0, 3, 4, 5])
def test_a_page_without_launches_has_none(lines: int) -> None:
    assert read_raw_page("\n".join(PAGE.splitlines()[:lines])) == []


def test_launches_meet_their_numbers() -> None:
    counted = read_raw_page(PAGE)
    told = [launched(), launched(REDUCE), launched(arm="oxide"), launched(REDUCE, "oxide")]
    made = paired("partial", told, counted)
    assert [(one.launch.arm, one.part, one.cache_control) for one in made] == [
        ("builder", "partial", "all"),
        ("oxide", "partial", "all"),
    ]
    assert made[1].metrics == counted[1].metrics
    for wrong in (counted[:1], [*counted, counted[0]], [Counted("other", {}), counted[1]]):
        with pytest.raises(DiffcheckError, match=f"ncu counted .*; launched: {PARTIAL}, {PARTIAL}"):
            paired("partial", told, wrong)
    with pytest.raises(DiffcheckError, match="ncu counted nothing"):
        paired("reduce", [], [])


def test_what_was_launched_is_read() -> None:
    assert read_launched(f"a notice\n{launched().model_dump_json()}\n") == [launched()]
    with pytest.raises(DiffcheckError, match="none of its own"):
        read_launched('{"case": 1}')


def test_stalls_are_parts_of_all_warps_time() -> None:
    metrics = {
        STALLED.format(reason): Metric(value=value, unit="inst")
        for reason, value in (("wait", 1.0), ("selected", 1.0), ("long_scoreboard", 6.0), ("gmma", 0.0))
    }
    assert stalls(metrics) == [("long_scoreboard", 0.75), ("wait", 0.125)]
    assert stalls({}) == []


def test_the_table_and_the_receipt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = receipt(*paired("partial", [launched(), launched(arm="oxide")], read_raw_page(PAGE)))
    first, second = ([cell.text for cell in row] for row in profile_table(made).rows)
    assert first[:5] == ["16/4 f16 at 60,000", "partial", "builder", "57.02", "91.5"]
    assert first[-3:] == ["12,345,678", "127", "long_scoreboard 75 %"]
    assert second[-3:] == ["12,345,678", "–", "–"]
    path = tmp_path / "profile.json"
    path.write_text(made.model_dump_json(by_alias=True), encoding="utf-8")
    assert run(["receipt", "show", str(path)]) == 0
    assert run(["profile", "--read", str(path), "--markdown"]) == 0
    assert "| 16/4 f16 at 60,000 | partial | oxide | 58.11 | 90.0 |" in capsys.readouterr().out


def _set(content: Any, **values: float) -> None:
    metrics = content["launches"][0]["metrics"]
    metrics.update({STALLED.format(reason): {"value": value, "unit": "inst"} for reason, value in values.items()})


def _first(content: Any) -> Any:
    return content["launches"][0]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda c: _set(c, long_scoreboard=1, wait=-1, selected=0),
            f"launches.0: metrics.{STALLED.format('wait')}: -1 is less than 0",
        ),
        (lambda c: _set(c, wait=1e308), f"launches.0.metrics.{STALLED.format('wait')}.value: 1e+308 is not allowed"),
        (
            lambda c: _first(c)["metrics"]["gpu__time_duration.sum"].update(value=-5),
            "launches.0: metrics.gpu__time_duration.sum: -5 is less than 0",
        ),
        (lambda c: _first(c)["launch"].update(num_kv_heads=0), "launches.0.launch.num_kv_heads: 0 is not allowed"),
        (lambda c: _first(c)["launch"].update(num_q_heads=17), "num_q_heads: 17 are no multiple of 4 KV heads"),
        (lambda c: _first(c).update(part="reduce"), f"part: reduce contradicts the kernel {PARTIAL}"),
        (lambda c: c["launches"].append(_first(c)), "partial of builder on random-16x4-L60000-f16 is there twice"),
        (lambda c: _first(c)["launch"].pop("arm"), "launches.0.launch.arm: is missing"),
    ],
)
def test_a_receipt_of_what_cannot_be_is_refused_by_name(
    change: Any, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = receipt(*paired("partial", [launched(), launched(arm="oxide")], read_raw_page(PAGE)))
    content = made.model_dump(mode="json", by_alias=True)
    change(content)
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert run(["profile", "--read", str(path)]) == 2
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1


def test_stalls_that_are_all_none_are_no_reasons() -> None:
    assert stalls({STALLED.format(reason): Metric(value=0.0, unit="inst") for reason in ("wait", "selected")}) == []


def test_a_count_that_cannot_be_ends_a_run_in_one_line() -> None:
    counted = [Counted(PARTIAL, {"smsp__inst_executed.sum": Metric(value=-1.0, unit="inst")})]
    with pytest.raises(DiffcheckError, match=r"counted of splitk_partial\S*: metrics\.smsp__inst_executed\.sum: -1 is"):
        paired("partial", [launched()], counted)


# Stands in for ncu: runs the command behind the options, and writes a log that the test has prepared.
STAND_IN = f"""\
#!{sys.executable}
import json, os, pathlib, subprocess, sys

arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 1) (public-release)")
else:
    command = arguments[arguments.index(sys.executable):]
    code = subprocess.run(command).returncode
    options = arguments[: -len(command)]
    pathlib.Path(options[options.index("--log-file") + 1]).write_text(os.environ["SPOKEN_LOG"])
    pathlib.Path(os.environ["SPOKEN_OPTIONS"]).write_text(json.dumps([os.environ["LC_ALL"], *options]))
    sys.exit(code)
"""


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Put the stand-in on PATH; the file that it writes its options to."""
    program = tmp_path / "ncu"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    for name, value in (("PATH", tmp_path), ("SPOKEN_LOG", PAGE), ("SPOKEN_OPTIONS", tmp_path / "options")):
        monkeypatch.setenv(name, str(value))
    for cached in (find_ncu, ncu_version):
        cached.cache_clear()
    yield tmp_path / "options"
    for cached in (find_ncu, ncu_version):
        cached.cache_clear()


def test_a_command_runs_under_the_tool(ncu: Path) -> None:
    assert ncu_version() == "2025.3.1.0"
    stdout, counted = run_under_ncu("^splitk_partial_", "all", [sys.executable, "-c", "print('ran')"], 60)
    assert (stdout, len(counted)) == ("ran\n", 2)
    locale, *options = json.loads(ncu.read_text())
    assert locale == "C"
    pairs = dict(itertools.pairwise(options))
    assert (pairs["--kernel-name"], pairs["--cache-control"]) == ("regex:^splitk_partial_", "all")
    assert (pairs["--page"], pairs["--clock-control"], pairs["--profile-from-start"]) == ("raw", "none", "off")


@pytest.mark.parametrize(
    ("log", "code", "error"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - no permission\n", "0", "ncu may not read this GPU's counters"),
        ("==ERROR== LibraryNotLoaded\n", "0", "ncu counted no launch: LibraryNotLoaded"),
        (PAGE, "raise SystemExit('no device')", "ncu: exit 1: no device"),
    ],
)
def test_a_run_that_counts_nothing_says_why(
    ncu: Path, monkeypatch: pytest.MonkeyPatch, log: str, code: str, error: str
) -> None:
    monkeypatch.setenv("SPOKEN_LOG", log)
    with pytest.raises(DiffcheckError, match=error):
        run_under_ncu("x", "none", [sys.executable, "-c", code], 60)


def test_without_the_tool_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_ncu.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MissingRequirementError, match="Nsight Compute"):
        find_ncu()
    find_ncu.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "output: 'none'"),
        (["-o", "x.json", "--read", "y.json"], "output: 'x.json'"),
        (["--read", str(PARITY)], "diffcheck-profile/1"),
        (["-o", "{tmp}/x.json", "--arms", "naive"], "at least one that has the reference's bits"),
        (["-o", "{tmp}/x.json", "--heads", "16:3"], "heads: '16:3'"),
        (["-o", "{tmp}/x.json", "--storages", ""], "storages: ''"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", *(word.replace("{tmp}", str(tmp_path)) for word in arguments)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_watched_process_tells_what_it_launches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    stream = SimpleNamespace(synchronize=lambda: done.append("waits"))

    @contextmanager
    def profile() -> Iterator[None]:
        done.append("watched")
        yield

    modules: dict[str, dict[str, Any]] = {
        "cupy": {},
        "cupy.cuda": {"get_current_stream": lambda: stream},
        "cupyx": {},
        "cupyx.profiler": {"profile": profile},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(target, "upload", lambda _program, sets: sets)
    monkeypatch.setattr(target, "queued_calls", lambda _program, _sets: lambda call: done.append(f"call {call}"))
    specs = ["16:4:700:f16", "8:2:300:f32"]
    target.main(["sm_90", "h200", "builder,oxide", *specs])
    told = read_launched(capsys.readouterr().out)
    assert [target.spec_of(target.case_of(spec)) for spec in specs] == specs
    assert [(one.kv_len, one.arm) for one in told[::2]] == [
        (n, arm) for n in (700, 300) for arm in ("builder", "oxide")
    ]
    assert {one.entry for one in told[1::2]} == {REDUCE}
    assert done == ["call 0", "waits", "watched", "call 1", "waits"] * 4


@pytest.mark.gpu
def test_a_profile_on_a_gpu(cupy: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cupy.cuda.runtime.getDeviceCount() > 0
    path = tmp_path / "profile.json"
    options = ["--kv-lens", "700", "--lock", str(tmp_path / "lock"), "-o", str(path)]
    code, error = run(["profile", *options]), capsys.readouterr().err
    if any(words in error for words in ("is not here", "may not read", "counted no launch")):
        pytest.skip(error)
    assert (code, error) == (0, "")
    made = Profile.model_validate_json(path.read_text())
    assert [(one.launch.arm, one.part) for one in made.launches] == [
        ("builder", "partial"),
        ("oxide", "partial"),
        ("builder", "reduce"),
        ("oxide", "reduce"),
    ]
    assert all(stalls(one.metrics) for one in made.launches)
