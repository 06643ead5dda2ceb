"""Programmatic launches from Python, by NVIDIA's cuda-bindings: the package's launcher and the harness's."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import pytest

from diffcheck.executors.gpu import ready
from diffcheck.executors.program import Step
from py_builder_kernel.programmatic import programmatic
from tests import waiting

NOT_WAITING = waiting.PTX.replace("    griddepcontrol.wait;\n", "")
LAUNCH_FAILED = 719

# Queues the kernel with this handle on this stream, to add one to each word of the array at this address.
Launch: TypeAlias = Callable[[int, int, int], None]


class DriverError(Exception):
    """CuPy's error of a driver's code."""


@pytest.fixture(params=["package", "harness"])
def launch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """What launches; each refuses by `DriverError`."""
    if request.param == "package":
        launcher = programmatic()

        def by_package(function: int, address: int, stream: int) -> None:
            given = (np.uint64(address),)
            code = launcher.launch(function, waiting.GRID, waiting.BLOCK, given, shared_bytes=64, stream=stream)
            if code:
                raise DriverError(code)

        return by_package

    def by_harness(function: int, address: int, stream: int) -> None:
        current = SimpleNamespace(ptr=stream)
        driver = SimpleNamespace(CUDADriverError=DriverError, funcSetAttribute=lambda *_: None)
        cuda = SimpleNamespace(get_current_stream=lambda: current, driver=driver)
        monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
        step = Step("add_one", waiting.GRID, waiting.BLOCK, 64, (), programmatic=True)
        ready(SimpleNamespace(ptr=function), step)((np.uint64(address),))

    return by_harness


@pytest.mark.usefixtures("context")
def test_kernels_that_wait_run_one_after_the_other(driver: Any, launch: Launch) -> None:
    words = driver.upload(np.zeros(waiting.WORDS, dtype=np.uint32))
    function, stream = driver.kernel(waiting.PTX, "add_one"), driver.stream()
    before = driver.counts()
    for _ in range(3):
        launch(function, words.address, stream)
    after = driver.counts()
    assert after == before | {key: before[key] + 3 for key in ("launches", "programmatic")}
    np.testing.assert_array_equal(driver.download(words), np.full(waiting.WORDS, 3, dtype=np.uint32))


@pytest.mark.usefixtures("context")
def test_a_kernel_that_does_not_wait_fails_behind_another(driver: Any, launch: Launch) -> None:
    words = driver.upload(np.zeros(waiting.WORDS, dtype=np.uint32))
    function = driver.kernel(NOT_WAITING, "add_one")
    launch(function, words.address, 0)
    with pytest.raises(DriverError, match=str(LAUNCH_FAILED)):
        launch(function, words.address, 0)
