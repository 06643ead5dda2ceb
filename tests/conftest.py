"""What holds for the whole suite: its options, how hard property tests try, and tests of a GPU where there is none."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings

from diffcheck.cases import SUITES
from diffcheck.executors import get_executor
from diffcheck.workers import usable_cores

# The same examples every time, so that a failure is the change's and not the draw's; `--hypothesis-profile=thorough`
# draws others each time, many more of them.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=5000, deadline=None)
settings.load_profile("repeatable")

# A shell lets what it starts in the background ignore an interrupt, and so would the commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("differential", "comparison of arms (tests/differential)")
    group.addoption("--executor", choices=("machine", "gpu"), help="only this executor (default: both)")
    group.addoption("--suite", choices=SUITES, help="all cases of a suite (default: quick, part of matrix)")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """`--numprocesses auto`: a process a core, but one for all tests where they share a GPU."""
    return 0 if get_executor("gpu").available() else usable_cores()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a GPU, one skipped test a file stands for all of the file's that need one, and says how many.

    Last, so that it stands for those that `-k` and the like have left.
    """
    availability = get_executor("gpu").available()
    if availability or config.option.collectonly:
        return
    left_out = Counter(item.path for item in items if item.get_closest_marker("gpu"))
    seen: set[object] = set()
    kept = []
    for item in items:
        if item.get_closest_marker("gpu"):
            if item.path in seen:
                continue
            seen.add(item.path)
            reason = f"{left_out[item.path]} tests of this file need a GPU: {availability.reason}"
            item.add_marker(pytest.mark.skip(reason=reason))
        kept.append(item)
    items[:] = kept


@pytest.fixture(scope="module")
def cupy() -> Any:
    """CuPy, with the first device's context current; skips, with the reason, where there is none that can be used."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.Device(0).use()
        cupy.zeros(1)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no usable CUDA device: {error}")
    if int(cupy.cuda.Device(0).compute_capability) < 80:
        pytest.skip("the device is older than sm_80")
    return cupy


@pytest.fixture(scope="module")
def torch(cupy: Any) -> Any:
    """PyTorch with a CUDA device."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no CUDA device")
    return torch
