"""When blocks are taken, when they count and when sampling ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from diffcheck.ab.bench import Replayed
from diffcheck.ab.nvml import NoMonitor
from diffcheck.ab.pace import Pace
from diffcheck.ab.sampler import WARM_UP, Sampler, ThrottledError
from diffcheck.ab.stopping import OVERRUN
from diffcheck.ab.undisturbed import TRIES, take_undisturbed
from diffcheck.experiment.model import Budget
from diffcheck.receipts.ab.samples import Side
from tests.factory.bench import Watch

NAMES: Mapping[Side, str] = {"baseline": "a", "candidate": "b"}
HOT = ("hw_thermal_slowdown",)


class Device:
    """A device on which a replay takes a second, and what was done on it: `block` or `rest`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.done: list[str] = []

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        self.done.append("block")

        def replay() -> float:
            self.now += 1.0
            return 10.0

        return [replay for _ in names]

    def rest(self, seconds: float) -> None:
        self.now += seconds
        self.done.append("rest")

    def pace(self) -> Pace:
        return Pace(0.5, self.rest, lambda: self.now)


def sampler(device: Device, watch: Watch | NoMonitor, **budget: float) -> Sampler:
    asked = {"interval_width": 0.01, "seconds_per_row": 1000.0, "min_blocks": 4, "max_blocks": 40, **budget}
    return Sampler(device.fresh, watch, Budget.model_validate(asked), device.pace())


def test_before_every_block_that_counts_the_device_has_rested() -> None:
    device = Device()
    made = sampler(device, NoMonitor()).compare(NAMES, seed=1)
    assert device.done == ["block", "rest"] * (WARM_UP + len(made.blocks))


@pytest.mark.parametrize("most", [5, 10, 12])
def test_no_more_blocks_run_than_are_allowed(most: int) -> None:
    # Every second block is dropped, so that there are never enough. A block has five readings and its rest one.
    watch = Watch(throttle=lambda reading: HOT if (reading - 1 - WARM_UP) // 6 % 2 else ())
    made = sampler(Device(), watch, min_blocks=most, max_blocks=most).compare(NAMES, seed=1)
    assert (len(made.blocks), made.stop) == (most, "blocks")
    assert made.dropped_blocks == most // 2


def test_a_device_that_throttles_all_the_time_ends_by_the_seconds_too() -> None:
    device = Device()
    with pytest.raises(ThrottledError, match="hw_thermal_slowdown"):
        sampler(device, Watch(throttle=lambda _: HOT), seconds_per_row=10.0, max_blocks=10_000).compare(NAMES, seed=1)
    # Warm-up, what the budget allows, and the blocks between two looks.
    assert device.now < WARM_UP * 4.5 + 10.0 * OVERRUN + 4 * 4.5


def disturbed(throttle: Callable[[int], tuple[str, ...] | None], wanted: int) -> tuple[list[int], tuple[int, ...]]:
    device, taken = Device(), list[int]()

    def take() -> int:
        taken.append(len(taken))
        return taken[-1]

    return taken, take_undisturbed(Watch(throttle=throttle), device.pace(), wanted, take)


def test_what_meets_a_slow_down_is_taken_again() -> None:
    # Three readings a measurement: before, behind, and one of the rest.
    taken, counted = disturbed(lambda reading: HOT if reading in (2, 4) else (), 3)
    assert (taken, counted) == ([0, 1, 2, 3, 4], (2, 3, 4))


def test_what_meets_slow_downs_again_and_again_is_as_much_as_there_is() -> None:
    taken, counted = disturbed(lambda reading: HOT if reading > 6 else (), 3)
    assert (len(taken), counted) == (TRIES * 3, (0, 1))


def test_nothing_but_slow_downs_is_an_error_that_names_them() -> None:
    with pytest.raises(ThrottledError, match="throttled: hw_thermal_slowdown"):
        disturbed(lambda _: HOT, 3)
