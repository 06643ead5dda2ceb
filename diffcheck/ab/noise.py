"""What disturbs times on a GPU, as models to try the statistics on.

Each model gives a factor for every replay of a row, in the order they run; a replay's time is its side's true time
times that factor. Sizes are of the order that was seen on devices, or larger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], FloatArray]

JITTER = 0.004
"""Standard deviation of a replay's own noise, present in every model."""


def _jitter(rng: np.random.Generator, count: int) -> FloatArray:
    factors: FloatArray = np.exp(rng.normal(0.0, JITTER, count))
    return factors


def clock_steps(rng: np.random.Generator, count: int) -> FloatArray:
    """The clock changes by up to 8 % and stays there, about once in 60 replays."""
    steps = np.where(rng.random(count) < 1.0 / 60.0, rng.uniform(-0.08, 0.08, count), 0.0)
    level = np.cumsum(steps)
    # A clock has limits: the level is folded back into 10 % round the middle.
    folded: FloatArray = np.exp(0.1 * np.sin(level / 0.1))
    return folded * _jitter(rng, count)


def drift(rng: np.random.Generator, count: int) -> FloatArray:
    """The device warms up: times rise by up to 6 % over the row, fast at first."""
    rise = rng.uniform(0.02, 0.06)
    at = np.arange(count) / max(count / 3.0, 1.0)
    return (1.0 + rise * (1.0 - np.exp(-at))) * _jitter(rng, count)


def outliers(rng: np.random.Generator, count: int) -> FloatArray:
    """One replay in 25 takes 5 to 60 % longer: an interrupt, another client of the memory."""
    hit = rng.random(count) < 0.04
    factors: FloatArray = np.where(hit, 1.0 + rng.uniform(0.05, 0.6, count), 1.0)
    return factors * _jitter(rng, count)


def bimodal(rng: np.random.Generator, count: int) -> FloatArray:
    """The device is in one of two states 3 % apart, and stays in one for 12 replays on average."""
    switches = rng.random(count) < 1.0 / 12.0
    state = (np.cumsum(switches) + int(rng.integers(2))) % 2
    return (1.0 + 0.03 * state) * _jitter(rng, count)


def periodic(rng: np.random.Generator, count: int) -> FloatArray:
    """Something beats with a period of four replays, as long as a block: the schedule must not keep step with it."""
    phase = int(rng.integers(4))
    beat: FloatArray = 1.0 + 0.02 * ((np.arange(count) + phase) % 4 == 0)
    return beat * _jitter(rng, count)


def everything(rng: np.random.Generator, count: int) -> FloatArray:
    """All of them at once."""
    whole = clock_steps(rng, count) * drift(rng, count) * outliers(rng, count) * bimodal(rng, count)
    return whole * periodic(rng, count)


MODELS: Mapping[str, Noise] = {
    "quiet": _jitter,
    "clock-steps": clock_steps,
    "drift": drift,
    "outliers": outliers,
    "bimodal": bimodal,
    "periodic": periodic,
    "everything": everything,
}
