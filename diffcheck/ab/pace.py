"""How a run lets the device rest between blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from diffcheck.ab.nvml import POWER_CAP, Monitor


@dataclass(frozen=True)
class Pace:
    """The seconds that a run pauses between blocks, the longest that it waits for a power cap, and its clock.

    Tests give others. A device under its cap is slower by what its supply and its cooling allow, not by its kernels: on
    an H200 that streams without pause, kernels that compute much lose a quarter of their clock.
    """

    pause_s: float = 0.03
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    settle_s: float = 0.15

    def rest(self, monitor: Monitor) -> None:
        """Pause, and go on pausing while the device says that its power cap is on, `settle_s` seconds at most."""
        self.sleep(self.pause_s)
        until = self.clock() + self.settle_s
        while _capped(monitor) and (left := until - self.clock()) > 0.0:
            self.sleep(min(self.pause_s, left))


def _capped(monitor: Monitor) -> bool:
    return POWER_CAP in (monitor.read().throttle or ())
