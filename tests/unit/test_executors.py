"""When an executor cannot run, it says why, and nothing else happens."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from diffcheck.errors import MissingRequirementError
from diffcheck.executors import get_executor, select_executors
from diffcheck.executors.gpu import GpuExecutor, _availability


@pytest.fixture(autouse=True)
def ask_again() -> Iterator[None]:
    _availability.cache_clear()
    yield
    _availability.cache_clear()


def pretend_cupy(monkeypatch: pytest.MonkeyPatch, count: object) -> None:
    def get_device_count() -> object:
        if isinstance(count, Exception):
            raise count
        return count

    runtime = SimpleNamespace(getDeviceCount=get_device_count)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (0, "no CUDA device is visible"),
        (RuntimeError("cudaErrorInsufficientDriver:\n too old"), "no usable CUDA driver: .*Insufficient.* too old"),
    ],
)
def test_gpu_names_the_reason(monkeypatch: pytest.MonkeyPatch, count: object, reason: str) -> None:
    pretend_cupy(monkeypatch, count)
    with pytest.raises(MissingRequirementError, match=reason) as caught:
        select_executors("gpu")
    assert "\n" not in str(caught.value)


def test_a_device_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_cupy(monkeypatch, 1)
    assert GpuExecutor().available()


def test_without_cupy_auto_runs_the_machine_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    chosen, notes = select_executors("auto")
    assert [executor.name for executor in chosen] == ["machine"]
    assert notes == [f"gpu: {get_executor('gpu').available().reason}"]
    assert "CuPy is not installed" in notes[0]


def test_without_the_native_module_the_machine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rust_kernel.ptx", None)
    monkeypatch.delattr("rust_kernel.ptx", raising=False)
    availability = get_executor("machine").available()
    assert not availability
    assert "not built" in availability.reason
