"""Work on several threads that an interruption does not wait for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def in_threads(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Iterator[tuple[int, Result]]:
    """Call `work` on every item, `workers` at a time, and yield (index of the item, result) as they are done.

    The calling thread only waits, so that it can be interrupted while the others are deep in native code. When it is,
    or when an item raises, what has not started is dropped and what runs is left to itself.
    """
    pool = ThreadPoolExecutor(max_workers=max(1, workers))
    try:
        futures = {pool.submit(work, item): index for index, item in enumerate(items)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown(wait=True)
