"""Zeros of both signs and denormals in q, K and V."""

from __future__ import annotations

import numpy as np

from diffcheck.buffers import FloatArray
from diffcheck.generators.base import F32Array, Request, generator
from diffcheck.generators.merges import MergeRequest, merge

LEAST = {"f32": 2.0**-149, "f16": 2.0**-24}
"""The least positive number of each storage."""
MERGE_CLASSES = 8
"""Splits i, i + 8, i + 16, … are merged with each other first (contract, section 6)."""
TINY_QUERY = 2.0**-40
LARGER_QUERY = 2.0**12


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
    # The last group's scores are denormal, products of a denormal and a larger number, and are its maxima.
    last = request.heads_of(case.num_kv_heads - 1)
    query[last] = rng.standard_normal(query[last].shape) * LARGER_QUERY
    if case.storage == "f16":
        query[last] = rng.integers(-(2**23) + 1, 2**23, query[last].shape) * LEAST["f32"]
    request.q[...] = query
    _fill(request.k, rng.integers(-1000, 1001, request.k.shape), least)
    # Whole multiples of the least number, few enough bits that their sum is exact; f16 denormals have 10 bits.
    most = min((2**24 - 1) // case.kv_len, 1023 if case.storage == "f16" else 2**23 - 1)
    multiples = rng.integers(-most, most + 1, request.v.shape)
    for kv_head in range(case.num_kv_heads):
        # Two elements of eight, others for the next KV head: zeros there hide what becomes of a denormal.
        minus, mixed = 2 * kv_head % 8, (2 * kv_head + 1) % 8
        multiples[:, kv_head, minus::8] = multiples[:, kv_head, mixed::8] = 0
    _fill(request.v, multiples, least)
    for kv_head in range(case.num_kv_heads):
        minus, mixed = 2 * kv_head % 8, (2 * kv_head + 1) % 8
        request.v[:, kv_head, minus::8] = -0.0
        request.v[0::2, kv_head, mixed::8] = -0.0
    mean = multiples.sum(axis=0) * least / case.kv_len
    return np.repeat(mean.astype(np.float32), case.group_size, axis=0)


@generator(
    "negative-zeros", "every warp's accumulators underflow to -0: +0, as their sum starts from +0", expect="bound"
)
def negative_zeros(request: Request) -> None:
    """The score rises by 80 with each step of a warp, and only the first step's values are not -0.

    Two rescales by e^-80 leave nothing of a few times the least number of either storage but its sign.
    """
    plan, case = request.plan, request.case
    step = np.arange(case.kv_len) % plan.chunk // (plan.tile.warps * plan.tile.rows)
    request.q[...] = request.k[...] = 0
    request.q[:, 0] = 80 * np.sqrt(case.head_dim)
    request.k[:, :, 0] = step[:, None]
    request.v[...] = -0.0
    multiples = request.rng("negative-zeros").integers(1, 4, request.v.shape)
    request.v[step == 0] = -LEAST[case.storage] * multiples[step == 0]


@merge("merge-denormal", "sums and accumulators that are denormal: their ratio", expect="exact")
def merge_denormal(request: MergeRequest) -> F32Array:
    """Equal maxima, and whole multiples of the least number with few enough bits that their sums are exact.

    Every eighth element is -0 in all splits, and comes out as +0, as every accumulator starts from +0.
    """
    rng = request.rng("merge-denormal")
    heads, dim = request.case.num_q_heads, request.case.head_dim
    most = (2**20 - 1) // request.n_splits
    sums = rng.integers(1, most + 1, (heads, request.n_splits))
    parts = rng.integers(-most, most + 1, (heads, request.n_splits, dim))
    parts[:, :, ::8] = 0
    request.m[...] = np.arange(heads)[:, None]
    request.s[...] = sums * LEAST["f32"]
    request.acc[...] = parts * LEAST["f32"]
    request.acc[:, :, ::8] = -0.0
    return np.asarray(parts.sum(axis=1) / sums.sum(axis=1)[:, None], dtype=np.float32)


@merge("merge-negative-zeros", "every class's accumulators underflow to -0, and so the result", expect="bound")
def merge_negative_zeros(request: MergeRequest) -> None:
    """A class's first split weighs e^-80 and has a few times the least number, below 0; the others weigh 1 and have -0.

    The first product leaves -0 in the class, and adding -0 keeps it. Adding +0 does not, so that the sign of the result
    shows an addition too many. Every other element is random.
    """
    rng = request.rng("merge-negative-zeros")
    first = np.arange(request.n_splits) < MERGE_CLASSES
    request.m[...] = np.where(first, -80, 0)
    request.s[...] = 1
    request.acc[...] = rng.standard_normal(request.acc.shape)
    least = np.where(first, -LEAST["f32"], -0.0)[:, None]
    request.acc[:, :, ::2] = least * rng.integers(1, 4, request.acc[:, :, ::2].shape)


def _fill(array: FloatArray, multiples: np.ndarray[tuple[int, ...], np.dtype[np.int64]], least: float) -> None:
    array[...] = multiples * least
