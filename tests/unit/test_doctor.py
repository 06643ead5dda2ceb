"""What a host has and lacks; nothing here has to have a GPU."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from diffcheck.cli.main import run
from diffcheck.doctor import device, here
from diffcheck.doctor.model import Finding
from diffcheck.doctor.run import CHECKS, examine
from diffcheck.receipts.ab.host import ForeignProcess
from diffcheck.receipts.ab.samples import Reading
from tests.factory.nvml import nvml


def finding(need: str, state: str) -> Finding:
    return Finding.model_validate({"name": need, "need": need, "state": state, "detail": "made", "remedy": "mend it"})


@pytest.mark.parametrize(
    ("lacking", "ready"),
    [
        ((), ("machine", "gpu", "verdict")),
        (("extra",), ("machine", "gpu", "verdict")),
        (("verdict",), ("machine", "gpu")),
        (("gpu",), ("machine",)),
        (("machine",), ()),
    ],
)
def test_each_step_takes_what_stands_before_it(lacking: tuple[str, ...], ready: tuple[str, ...]) -> None:
    needs = ("machine", "gpu", "verdict", "extra")
    checks = [lambda need=need: finding(need, "lacks" if need in lacking else "note") for need in needs]
    assert examine(checks).ready == ready


def test_a_check_that_fails_itself_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Finding:
        raise RuntimeError("a library\nis broken")

    found = examine((broken,)).findings[0]
    assert (found.name, found.state, found.detail) == ("broken", "lacks", "could not be asked: a library is broken")
    monkeypatch.setattr(here, "check_writable", lambda _: 1 / 0)
    assert examine((here.disk,)).ready == ()


def test_every_check_answers_in_one_line_and_mends_what_lacks() -> None:
    found = examine().findings
    assert len(found) == len(CHECKS) == len({one.name for one in found})
    for one in found:
        assert "\n" not in one.detail
        assert not one.detail.startswith("could not be asked"), one
        assert one.remedy or one.state != "lacks"


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "diffcheck.doctor.here.metadata.requires", lambda _: ["no-such-package>=1", "numpy>=2", 'x; extra == "test"']
    )
    found = here.python()
    assert (found.state, found.remedy) == ("lacks", "python -m pip install no-such-package")


def test_a_native_module_that_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rust_kernel.plan", None)
    monkeypatch.delattr("rust_kernel.plan", raising=False)
    found = here.native_module()
    assert (found.state, found.need) == ("lacks", "machine")
    assert found.remedy == "make setup"


def test_a_native_module_that_plans_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffcheck.subjects.computed.plans_sha256", lambda: "0" * 64)
    assert "otherwise" in here.native_module().detail


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evidence").write_text("a file", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = here.disk()
    assert (found.state, found.need) == ("lacks", "machine")


@pytest.mark.parametrize(
    ("restricted", "says"), [(None, "does not say"), (0, "can lock"), (1, "cannot lock")]
)  # fmt: skip
def test_clocks_are_told_and_never_lacking(restricted: int | None, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {} if restricted is None else {"nvmlDeviceGetAPIRestriction": restricted}
    monkeypatch.setattr(device, "_device", lambda: nvml(**answers))
    found = device.clocks()
    assert found.state == "note"
    assert says in found.detail


def test_a_device_that_supports_nothing_lacks_only_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_device", nvml)
    monkeypatch.setitem(sys.modules, "pynvml", types.ModuleType("pynvml"))
    assert nvml().read() == Reading(sm_mhz=None, memory_mhz=None, temperature_c=None, power_w=None, throttle=None)
    assert "who else is on the GPU" in device.nvml().detail
    assert device.others().state == "note"


def test_live_compute_processes_are_lacking_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made = nvml()
    phantom = ForeignProcess(kind="compute", state="phantom", memory_bytes=1)
    drawing = ForeignProcess(kind="graphics", state="live", memory_bytes=None)
    monkeypatch.setattr(device, "_device", lambda: made)
    monkeypatch.setattr(made, "processes", lambda: (phantom, drawing))
    assert device.others().state == "ok"
    live = ForeignProcess(kind="compute", state="live", memory_bytes=1)
    monkeypatch.setattr(made, "processes", lambda: (phantom, live))
    assert (device.others().state, device.others().remedy) == ("lacks", "nvidia-smi, then end them")


def test_the_command_writes_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "doctor.json"
    assert run(["doctor", "--json", str(file)]) == 0
    assert "diffcheck parity --executor machine: ready" in capsys.readouterr().out
    assert json.loads(file.read_text(encoding="utf-8"))["schema"] == "diffcheck-doctor/1"


def test_the_command_fails_where_the_machine_cannot_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("diffcheck.doctor.here.metadata.requires", lambda _: ["no-such-package>=1"])
    assert run(["doctor"]) == 1
    assert "python -m pip install no-such-package" in capsys.readouterr().out
