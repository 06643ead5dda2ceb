"""Scores that rise or fall from key to key: the running maximum moves at every step, or never again."""

from __future__ import annotations

import numpy as np

from diffcheck.generators.base import F32Array, Request, generator
from diffcheck.generators.normal import fill_normal
from diffcheck.generators.walsh import signs

LOW_KEYS = 32
MOST_KEYS = LOW_KEYS * (2048 - LOW_KEYS)
"""f16 holds every whole number up to 2048."""
STEEP = 128
"""A step of the score past the exponential's cut-off (87): each key makes all before it weigh nothing."""


def _ramp(request: Request, increment: float) -> None:
    """Make score[j] = increment · j for every head.

    Key j is written as 32 · high + low, along two orthogonal directions: both parts are small whole numbers, which f16
    holds exactly, and every partial sum of the score is exact. Raises `ValueError` for a context too long for that.
    """
    if request.case.kv_len > MOST_KEYS:
        raise ValueError(f"{request.case.name}: scores can rise over {MOST_KEYS} keys at most")
    dim = request.case.head_dim
    scale = np.sqrt(dim)
    high_direction, low_direction = signs(0, dim), signs(1, dim)
    # A direction's dot product with itself is head_dim, and the score is divided by its root.
    unit = increment / scale
    request.q[...] = unit * (LOW_KEYS * high_direction + low_direction)
    key = np.arange(request.case.kv_len)
    high, low = key // LOW_KEYS, key % LOW_KEYS
    request.k[...] = (high[:, None] * high_direction + low[:, None] * low_direction)[:, None, :]


@generator("rising", "score[j] = j / 16: the maximum moves at every step", expect="bound")
def rising(request: Request) -> None:
    """Every warp step rescales, and several keys share the weight."""
    _ramp(request, 1 / 16)
    fill_normal(request.v, request.rng("v"))


@generator("rising-steep", "score[j] = 128 j: only the last key counts", expect="exact")
def rising_steep(request: Request) -> F32Array:
    """A dropped last key, or a rescale left out, gives another key's value."""
    _ramp(request, STEEP)
    return _lone_value(request, request.case.kv_len - 1)


@generator("falling-steep", "score[j] = -128 j: only the first key counts", expect="exact")
def falling_steep(request: Request) -> F32Array:
    """Every later warp and split must be weighed with 0 when it is merged."""
    _ramp(request, -STEEP)
    return _lone_value(request, 0)


def _lone_value(request: Request, key: int) -> F32Array:
    fill_normal(request.v, request.rng("v"))
    # A zero's sign would depend on what the rescales left behind.
    request.v[request.v == 0] = 1
    return np.repeat(request.v[key].astype(np.float32), request.case.group_size, axis=0)
