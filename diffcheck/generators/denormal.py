"""Zeros of both signs and denormals in q, K and V."""

from __future__ import annotations

import numpy as np

from diffcheck.buffers import FloatArray
from diffcheck.generators.base import F32Array, Request, generator

LEAST = {"f32": 2.0**-149, "f16": 2.0**-24}
"""The least positive number of each storage."""
TINY_QUERY = 2.0**-40


@generator("denormals", "zeros of both signs and denormals throughout; all weights exactly 1", expect="exact")
def denormals(request: Request) -> F32Array:
    """Scores are so small that every weight is exactly 1, and out = Σ V / kv_len with one rounding.

    Flushing a denormal to zero anywhere, or keeping a -0 that the rules do not keep, changes a word: a column of V that
    is -0 throughout gives +0, as every accumulator starts from +0.
    """
    case = request.case
    least = LEAST[case.storage]
    rng = request.rng("denormals")
    query = rng.standard_normal(request.q.shape) * TINY_QUERY
    query[:, ::4] = rng.integers(-1000, 1001, query[:, ::4].shape) * LEAST["f32"]
    request.q[...] = query
    _fill(request.k, rng.integers(-1000, 1001, request.k.shape), least)
    # Whole multiples of the least number, few enough bits that their sum is exact; f16 denormals have 10 bits.
    most = min((2**24 - 1) // case.kv_len, 1023 if case.storage == "f16" else 2**23 - 1)
    multiples = rng.integers(-most, most + 1, request.v.shape)
    multiples[:, :, 0::8] = multiples[:, :, 1::8] = 0
    _fill(request.v, multiples, least)
    request.v[:, :, 0::8] = -0.0
    request.v[0::2, :, 1::8] = -0.0
    mean = multiples.sum(axis=0) * least / case.kv_len
    return np.repeat(mean.astype(np.float32), case.group_size, axis=0)


def _fill(array: FloatArray, multiples: np.ndarray[tuple[int, ...], np.dtype[np.int64]], least: float) -> None:
    array[...] = multiples * least
