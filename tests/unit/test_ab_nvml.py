"""What NVML says and does not say, and who else is on a GPU."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from diffcheck.ab.merge import Earlier
from diffcheck.ab.pace import Pace
from diffcheck.ab.run import Asked, Run, facts_of
from diffcheck.receipts.ab.host import ForeignProcess, HostFacts
from diffcheck.receipts.ab.samples import Reading
from diffcheck.selftest.model import SelfTestNotRun
from tests.factory.ab import ab_content, small_experiment
from tests.factory.bench import FormulaBench
from tests.factory.nvml import nvml


def process(pid: int, memory: int | None = 1024) -> types.SimpleNamespace:
    return types.SimpleNamespace(pid=pid, usedGpuMemory=memory)


def test_a_run_on_a_device_that_supports_nothing_is_whole_and_full_of_nulls(tmp_path: Path) -> None:
    facts = HostFacts.model_validate({**ab_content("gb10")["host"], "peak_memory_bytes_per_second": None})
    bench = FormulaBench(facts, monitor=nvml())
    ticks = itertools.count(0.0, 0.01)
    pace = Pace(0.0, lambda _: None, lambda: next(ticks))
    path = tmp_path / "gb10.json"
    asked = Asked(small_experiment(), "gb10", (), ("ab",), path, pace, SelfTestNotRun(reason="not asked for"))
    receipt, _ = Run(bench, asked, facts_of(bench, asked), Earlier()).measure(lambda _: None)
    assert receipt.status == "complete"
    assert (receipt.gpu_users.before, receipt.gpu_users.after) == (None, None)
    nothing = Reading(sm_mhz=None, memory_mhz=None, temperature_c=None, power_w=None, throttle=None)
    for row in receipt.rows:
        assert row.timing is not None
        assert row.above_peak is None
        assert {reading for block in row.timing.blocks for reading in block.readings} == {nothing}
        assert not row.timing.dropped_blocks
    assert "no clocks were recorded: NVML is not there or does not support them" in receipt.warnings


def test_one_field_that_is_supported_is_read() -> None:
    only = nvml(nvmlDeviceGetPowerUsage=412_500)
    assert only.read() == Reading(sm_mhz=None, memory_mhz=None, temperature_c=None, power_w=412.5, throttle=None)
    assert (only.uuid(), only.driver(), only.peak_bytes_per_second(), only.processes()) == (None,) * 4


@pytest.mark.parametrize("answer", [-1, float("nan"), float("inf"), "1980", None])
def test_an_answer_that_is_no_amount_is_none(answer: object) -> None:
    names = ("nvmlDeviceGetClockInfo", "nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage")
    assert nvml(**dict.fromkeys(names, answer)).read() == nvml().read()


def test_a_function_that_an_older_library_has_not_is_no_error() -> None:
    old = nvml(nvmlDeviceGetPowerUsage=412_500)
    delattr(old._library, "nvmlDeviceGetTemperature")
    assert old.read().power_w == 412.5


def test_reasons_are_named_and_an_unknown_one_is_kept() -> None:
    assert nvml(nvmlDeviceGetCurrentClocksEventReasons=0x44).read().throttle == ("sw_power_cap", "hw_thermal_slowdown")
    assert nvml(nvmlDeviceGetCurrentClocksThrottleReasons=0x1000).read().throttle == ("unknown_0x1000",)
    assert nvml(nvmlDeviceGetCurrentClocksEventReasons=0).read().throttle == ()


def test_phantoms_are_told_from_live_processes_and_this_one_is_neither() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    living = os.getppid()
    device = nvml(
        nvmlDeviceGetComputeRunningProcesses=[process(os.getpid()), process(ended.pid), process(living, None)],
        nvmlDeviceGetGraphicsRunningProcesses=[process(living), process(ended.pid)],
    )
    assert device.processes() == (
        ForeignProcess(kind="compute", state="phantom", memory_bytes=1024),
        ForeignProcess(kind="compute", state="live", memory_bytes=None),
    )
    drawing = nvml(
        nvmlDeviceGetComputeRunningProcesses=[], nvmlDeviceGetGraphicsRunningProcesses=[process(living)]
    )  # fmt: skip
    assert drawing.processes() == (ForeignProcess(kind="graphics", state="live", memory_bytes=1024),)


def test_graphics_that_nvml_does_not_list_leave_compute_known() -> None:
    assert nvml(nvmlDeviceGetComputeRunningProcesses=[]).processes() == ()
