"""Zeros of both signs and denormals in q, K and V."""

from __future__ import annotations

import numpy as np

from diffcheck.buffers import FloatArray
from diffcheck.generators.base import F32Array, Request, generator
from diffcheck.generators.merges import FAR_BELOW, MERGE_CLASSES, MergeRequest, merge

LEAST = {"f32": 2.0**-149, "f16": 2.0**-24}
"""The least positive number of each storage."""
TINY_QUERY = 2.0**-40
TINY_VALUE = 2.0**-24
"""The least of f16. Times e^-80 it is denormal, and times e^-160 nothing is left."""
LARGER_QUERY = 2.0**12

Keys = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
"""A number for every key, or whether something holds for it."""


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


@generator(
    "negative-zero-warps",
    "a warp's product underflows to -0, to which the others add zeros of either sign",
    expect="bound",
)
def negative_zero_warps(request: Request) -> None:
    """Four kinds of elements, each at every place of a lane: behind the first warp they end as +0, +0, -0, a number.

    What the first warp brings to the merge is -0, which stays as long as no +0 is added. The others' rows weigh e^-160
    in their first step, nothing in their last and 1 in between, where V is -0. An accumulator that starts from +0 is +0
    then. One that had a few times the least number before is -0, until a weight of +0 times a number is added.
    """
    case = request.case
    _, step, warp, row = _places(request)
    first, begin, end = warp == 0, step == 0, step == step.max()
    request.q[...] = request.k[...] = 0
    request.q[:, 0] = np.sqrt(case.head_dim)
    request.k[:, :, 0] = np.select([first, begin, end], [_first_warp(row == 0), -160, -200], 0)[:, None]
    element = np.arange(case.head_dim)
    kind = (element + element // 4 + element // 8) % 4
    least = ~first & begin
    v = np.where((first & (row == 0))[:, None] & (kind < 3), -TINY_VALUE, -0.0)
    v = np.where(least[:, None] & ((kind == 1) | (kind == 2)), -2 * LEAST[case.storage], v)
    v = np.where((~first & ~begin & end)[:, None] & (kind == 1), 1, v)
    v = np.where(kind == 3, request.rng("negative-zero-warps").integers(1, 4, v.shape), v)
    request.v[...] = v[:, None, :]


@generator(
    "negative-zero-rows",
    "each warp's accumulator underflows to -0, or the warp weighs +0 in the merge",
    expect="bound",
)
def negative_zero_rows(request: Request) -> None:
    """All is -0 up to the last warp, whose last row may be masked or which may have no row: that makes it +0.

    The rows score 0 in the last step and -80 before, and have -0. The first two of all score 87 less than the others
    and have the least number of f16, below and above 0: 0.7 times the least denormal, once rounded up and once taken
    from that, rounds to -0. Every second warp, another one in every split, scores -200 and has numbers below 0: its
    factor in the merge is +0, and a product with it -0.
    """
    case = request.case
    split, step, warp, row = _places(request)
    first, far, pair = warp == 0, (warp > 0) & ((warp + split) % 2 == 0), (row < 2) & (step == 0)
    score = np.where(step == step.max(), 0, -80) - np.where(pair, 87, 0)
    request.q[...] = request.k[...] = 0
    request.q[:, 0] = np.sqrt(case.head_dim)
    request.k[:, :, 0] = np.select([first, far], [_first_warp(pair & (row == 0)), -200], score)[:, None]
    tiny = np.where(row == 0, -TINY_VALUE, np.where(first, -0.0, TINY_VALUE))
    v = np.where(pair, tiny, -0.0)[:, None, None]
    rng = request.rng("negative-zero-rows")
    request.v[...] = np.where(far[:, None, None], -rng.integers(1, 4, request.v.shape), v)


def _first_warp(tiny: Keys) -> Keys:
    """Return scores of -80, and of -160 where V is `-TINY_VALUE`: a factor of e^-80 makes -0 of their product."""
    return np.where(tiny, -160, -80)


def _places(request: Request) -> tuple[Keys, Keys, Keys, Keys]:
    """Return each key's split, its step, its warp and its row in the step."""
    tile = request.plan.tile
    split, within = np.divmod(np.arange(request.case.kv_len), request.plan.chunk)
    step, in_step = np.divmod(within, tile.warps * tile.rows)
    warp, row = np.divmod(in_step, tile.rows)
    return split, step, warp, row


@merge("merge-denormal", "sums and accumulators that are denormal: their ratio", expect="exact")
def merge_denormal(request: MergeRequest) -> F32Array:
    """Equal maxima, and whole multiples of the least number with few enough bits that their sums are exact.

    Every seventh element is -0 in all splits, and comes out as +0, as every accumulator starts from +0.
    """
    rng = request.rng("merge-denormal")
    heads, dim = request.case.num_q_heads, request.case.head_dim
    most = (2**20 - 1) // request.n_splits
    sums = rng.integers(1, most + 1, (heads, request.n_splits))
    parts = rng.integers(-most, most + 1, (heads, request.n_splits, dim))
    parts[:, :, ::7] = 0
    request.m[...] = np.arange(heads)[:, None]
    request.s[...] = sums * LEAST["f32"]
    request.acc[...] = parts * LEAST["f32"]
    request.acc[:, :, ::7] = -0.0
    return np.asarray(parts.sum(axis=1) / sums.sum(axis=1)[:, None], dtype=np.float32)


@merge("merge-negative-zeros", "every class's accumulators underflow to -0, and so the result", expect="bound")
def merge_negative_zeros(request: MergeRequest) -> None:
    """A class's first split weighs e^-80 and has a few times the least number, below 0.

    The others weigh 1 and have -0, or weigh +0 and have numbers below 0, in turn. The first product leaves -0 in the
    class, and adding -0 keeps it. Adding +0 does not, so that the sign of the result shows an addition too many and a
    weight of -0. So it is in the even elements of even heads and the odd ones of odd heads; the others are random.
    """
    rng = request.rng("merge-negative-zeros")
    split = np.arange(request.n_splits)
    first = split < MERGE_CLASSES
    far = ~first & ((split + split // MERGE_CLASSES) % 2 == 1)
    request.m[...] = np.select([first, far], [-80, -FAR_BELOW], 0)
    request.s[...] = 1
    request.acc[...] = rng.standard_normal(request.acc.shape)
    values = np.select([first, far], [-LEAST["f32"], -1.0], -0.0)[:, None]
    for parity in range(2):
        part = request.acc[parity::2, :, parity::2]
        part[...] = values * rng.integers(1, 4, part.shape)


@merge("merge-zero-sums", "sums of -0: an infinity, as their sum starts from +0", expect="exact")
def merge_zero_sums(request: MergeRequest) -> F32Array:
    """Nothing but the sign of the result shows from which zero a class's sum of weights starts."""
    rng = request.rng("merge-zero-sums")
    sign = rng.choice((-1.0, 1.0), (request.case.num_q_heads, request.case.head_dim))
    request.m[...] = 0
    request.s[...] = -0.0
    request.acc[...] = sign[:, None, :] * rng.integers(1, 100, request.acc.shape)
    return np.asarray(sign * np.inf, dtype=np.float32)


def _fill(array: FloatArray, multiples: np.ndarray[tuple[int, ...], np.dtype[np.int64]], least: float) -> None:
    array[...] = multiples * least
