"""Measurements that no thermal or hardware slow-down struck, outside the blocks of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeVar

from diffcheck.ab.bench import Replayed
from diffcheck.ab.nvml import Monitor
from diffcheck.ab.pace import Pace
from diffcheck.ab.sampler import ThrottledError, why_dropped

_T = TypeVar("_T")

TRIES = 2
"""So many times the measurements that are wanted are tried."""


def take_undisturbed(monitor: Monitor, pace: Pace, wanted: int, take: Callable[[], _T]) -> tuple[_T, ...]:
    """Take measurements, with a rest after each, until `wanted` of them count or `TRIES` times as many were tried.

    One that meets a hard reason for a lowered clock does not count. Raises `ThrottledError` where none counts.
    """
    taken: list[_T] = []
    reason: str | None = None
    for _ in range(TRIES * wanted):
        before = monitor.read()
        one = take()
        dropped = why_dropped((before, monitor.read()))
        reason = dropped or reason
        if dropped is None:
            taken.append(one)
        pace.rest(monitor)
        if len(taken) == wanted:
            break
    if not taken:
        raise ThrottledError(reason or "")
    return tuple(taken)


def replay_in_turn(
    monitor: Monitor,
    pace: Pace,
    rounds: int,
    names: Sequence[str],
    fresh: Callable[[Sequence[str]], Sequence[Replayed]],
) -> dict[str, list[float]]:
    """Replay graphs at `rounds` places of their own, there and back, and return each one's times in µs a call.

    `fresh` makes new graphs of the names. Raises `ThrottledError` where no round counts.
    """

    def replayed() -> list[tuple[str, float]]:
        replays = list(zip(names, fresh(names), strict=True))
        return [(name, replay()) for name, replay in (*replays, *reversed(replays))]

    samples: dict[str, list[float]] = {name: [] for name in names}
    for name, us in chain(*take_undisturbed(monitor, pace, rounds, replayed)):
        samples[name].append(us)
    return samples
