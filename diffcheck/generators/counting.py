"""Cases whose weights are exactly 0 or 1, so that every result is a ratio of whole numbers and exact in any order.

A kept key scores `KEPT · sqrt(head_dim)` and a dropped one the negative of it. The gap is past the exponential's
cut-off, so a dropped key weighs exactly 0 as soon as a kept one was seen, and the sums before that are wiped out by a
factor of exactly 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diffcheck.generators.base import F32Array, Request, generator, mean_of
from diffcheck.generators.normal import fill_normal

KEPT = 8
Mask = npt.NDArray[np.bool_]


def keep_some(request: Request) -> Mask:
    """Write q and K, and say which keys are kept: `[kv_len, num_kv_heads]`, at least one a KV head.

    The first third of the keys is mostly dropped, so that a maximum moves late.
    """
    case = request.case
    rng = request.rng("kept")
    chance = np.where(np.arange(case.kv_len) < case.kv_len // 3, 0.1, 0.6)
    kept = rng.random((case.kv_len, case.num_kv_heads)) < chance[:, None]
    kept[rng.integers(case.kv_len, size=case.num_kv_heads), np.arange(case.num_kv_heads)] = True
    direction = np.where(rng.random((case.num_kv_heads, case.head_dim)) < 0.5, np.float32(-1), np.float32(1))
    request.k[...] = np.where(kept[:, :, None], KEPT, -KEPT) * direction
    # Heads of a group differ, by a power of two, which keeps every score exact.
    scale = np.where(np.arange(case.num_q_heads) % 2, np.float32(2), np.float32(1))
    request.q[...] = np.repeat(direction, case.group_size, axis=0) * scale[:, None]
    return kept


def kept_means(request: Request, kept: Mask) -> F32Array:
    """The exact result: each KV head's mean of V over its kept keys, for all heads of its group."""
    means = [
        mean_of(request.v[kept[:, n], n].astype(np.float64), int(kept[:, n].sum()))
        for n in range(request.case.num_kv_heads)
    ]
    return np.repeat(np.stack(means), request.case.group_size, axis=0)


def whole_values(request: Request, kept: Mask) -> None:
    """Write V: whole numbers from 1 to 127 in kept keys, fractions below 0 in dropped ones."""
    rng = request.rng("v")
    request.v[...] = np.where(kept[:, :, None], rng.integers(1, 128, request.v.shape), -rng.random(request.v.shape))


@generator("kept-values", "weights 0 or 1, V whole numbers: the mean over the kept keys", expect="exact")
def kept_values(request: Request) -> F32Array:
    """The plainest exact case."""
    kept = keep_some(request)
    whole_values(request, kept)
    return kept_means(request, kept)


@generator("v-one", "weights 0 or 1, V = 1: exactly 1", expect="exact")
def v_one(request: Request) -> F32Array:
    """Numerator and denominator are the same whole number."""
    kept = keep_some(request)
    request.v[...] = 1
    return kept_means(request, kept)


@generator("v-head-index", "weights 0 or 1, V = index of its KV head: exactly that", expect="exact")
def v_head_index(request: Request) -> F32Array:
    """A head that reads another group's KV head shows that head's number."""
    kept = keep_some(request)
    request.v[...] = np.arange(request.case.num_kv_heads)[None, :, None]
    return kept_means(request, kept)


@generator("one-hot-v", "K = 0, V one-hot by position mod head_dim: each key counted once", expect="exact")
def one_hot_v(request: Request) -> F32Array:
    """out[d] is the number of keys j with (j + KV head) mod head_dim = d, over kv_len, correctly rounded."""
    case = request.case
    fill_normal(request.q, request.rng("q"))
    request.k[...] = 0
    key, kv_head = np.arange(case.kv_len)[:, None], np.arange(case.num_kv_heads)[None, :]
    request.v[...] = 0
    request.v[key, kv_head, (key + kv_head) % case.head_dim] = 1
    return kept_means(request, np.ones((case.kv_len, case.num_kv_heads), dtype=np.bool_))


@generator("v-512", "K = 0, V = 512: exactly 512, which f16 accumulation would overflow", expect="exact")
def v_512(request: Request) -> F32Array:
    """128 keys of 512 sum to 65,536, past the largest f16."""
    fill_normal(request.q, request.rng("q"))
    request.k[...] = 0
    request.v[...] = 512
    return np.full(request.q.shape, 512, dtype=np.float32)
