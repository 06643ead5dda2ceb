"""How a run rests between blocks."""

from __future__ import annotations

import pytest

from diffcheck.ab.nvml import NoMonitor
from diffcheck.ab.pace import Pace
from tests.factory.bench import Watch


class Time:
    """A clock that moves by what is slept."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def pace(self) -> Pace:
        return Pace(pause_s=0.25, sleep=self.sleep, clock=lambda: self.now, settle_s=2.0)


@pytest.mark.parametrize(
    ("capped", "slept"),
    [(0, 0.25), (1, 0.5), (3, 1.0), (1000, 2.25)],
    ids=["free", "capped once", "capped for a while", "capped all the time"],
)
def test_a_rest_lasts_until_the_power_cap_lets_go_but_no_longer_than_it_may(capped: int, slept: float) -> None:
    time = Time()
    time.pace().rest(Watch(throttle=lambda reading: ("gpu_idle", "sw_power_cap") if reading <= capped else ()))
    assert time.now == slept


@pytest.mark.parametrize(
    "monitor",
    [NoMonitor(), Watch(throttle=lambda _: None), Watch(throttle=lambda _: ("hw_slowdown",))],
    ids=["no NVML", "unknown", "another reason"],
)
def test_for_nothing_but_the_power_cap_a_rest_is_one_pause(monitor: Watch | NoMonitor) -> None:
    time = Time()
    time.pace().rest(monitor)
    assert time.now == 0.25


def test_the_last_pause_of_a_rest_is_cut_short() -> None:
    time = Time()
    Pace(0.25, time.sleep, lambda: time.now, settle_s=0.375).rest(Watch(throttle=lambda _: ("sw_power_cap",)))
    assert time.now == 0.625
