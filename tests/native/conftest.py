"""What several tests of the bindings need."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest


@pytest.fixture
def ticks_during() -> Callable[[Callable[[], object]], int]:
    """How often another thread got to run while the given work, which lets go of the interpreter, was going on."""

    def count(work: Callable[[], object]) -> int:
        span: list[float] = []

        def timed() -> None:
            span.append(time.perf_counter())
            work()
            span.append(time.perf_counter())

        worker = threading.Thread(target=timed)
        ticks: list[float] = []
        worker.start()
        while worker.is_alive():
            ticks.append(time.perf_counter())
            time.sleep(0.001)
        worker.join()
        return len([tick for tick in ticks if span[0] < tick < span[1]])

    return count
