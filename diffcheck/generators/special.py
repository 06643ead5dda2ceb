"""NaN and infinities in live rows, with the results that section 7 of the contract gives.

All start from weights of exactly 0 or 1 (`diffcheck.generators.counting`), so that the words that a special value does
not reach are exact too: it must spoil what the contract says, and nothing else.
"""

from __future__ import annotations

import numpy as np

from diffcheck.generators.base import F32Array, Request, generator
from diffcheck.generators.counting import KEPT, Mask, keep_some, kept_means, whole_values

DIM = 5
"""The element of q and K that carries the special value."""


def _base(request: Request) -> tuple[Mask, int]:
    """Write an exact case and return what is kept, and the KV head to spoil (the last)."""
    kept = keep_some(request)
    whole_values(request, kept)
    return kept, request.case.num_kv_heads - 1


def _pick(kept: Mask, kv_head: int, *, live: bool) -> int:
    """A key of `kv_head` that is kept (or dropped), the last such: it lies in the last split."""
    keys = np.flatnonzero(kept[:, kv_head] == live)
    if keys.size < 2:
        raise ValueError(f"a special value needs two {'kept' if live else 'dropped'} keys; take a longer context")
    return int(keys[-1])


@generator("nan-query", "NaN in one head of q: that head NaN, the others exact", expect="exact")
def nan_query(request: Request) -> F32Array:
    """Heads of one group share a block, and must not share a NaN."""
    kept, _ = _base(request)
    exact = kept_means(request, kept)
    request.q[0, DIM] = np.nan
    exact[0] = np.nan
    return exact


@generator("nan-key", "NaN in one row of K: the heads of that group NaN, the others exact", expect="exact")
def nan_key(request: Request) -> F32Array:
    """The row would weigh 0 without the NaN: `max` ignores it, the exponential keeps it."""
    kept, kv_head = _base(request)
    exact = kept_means(request, kept)
    request.k[_pick(kept, kv_head, live=False), kv_head, DIM] = np.nan
    exact[request.heads_of(kv_head)] = np.nan
    return exact


@generator("nan-value", "NaN in V, in a row of weight 1 and in one of weight 0: those dimensions only", expect="exact")
def nan_value(request: Request) -> F32Array:
    """A weight of 0 does not hide it, as 0 · NaN is NaN."""
    kept, kv_head = _base(request)
    exact = kept_means(request, kept)
    for dim, live in ((3, True), (200, False)):
        request.v[_pick(kept, kv_head, live=live), kv_head, dim] = np.nan
        exact[request.heads_of(kv_head), dim] = np.nan
    return exact


@generator("inf-key", "inf in a row of K: score +inf in even heads (NaN), -inf in odd ones (weight 0)", expect="exact")
def inf_key(request: Request) -> F32Array:
    """Odd heads see the element with the other sign, and lose a key that they would have kept."""
    kept, kv_head = _base(request)
    signs = np.where(np.arange(request.case.num_q_heads) % 2, np.float32(-1), np.float32(1))
    request.q[:, DIM] = signs * np.abs(request.q[:, DIM])
    exact = kept_means(request, kept)
    key = _pick(kept, kv_head, live=True)
    request.k[key, kv_head, DIM] = np.inf
    without = kept.copy()
    without[key, kv_head] = False
    fewer = kept_means(request, without)
    heads = np.arange(request.case.num_q_heads)[request.heads_of(kv_head)]
    exact[heads[heads % 2 == 0]] = np.nan
    exact[heads[heads % 2 == 1]] = fewer[heads[heads % 2 == 1]]
    return exact


@generator("all-minus-inf", "every score of one KV head -inf: NaN there (0 / 0), the others exact", expect="exact")
def all_minus_inf(request: Request) -> F32Array:
    """An empty softmax is undefined; a finite sentinel for the maximum would give the mean of V."""
    kept, kv_head = _base(request)
    exact = kept_means(request, kept)
    heads = request.heads_of(kv_head)
    request.q[heads, DIM] = np.abs(request.q[heads, DIM])
    request.k[:, kv_head, DIM] = -np.inf
    exact[heads] = np.nan
    return exact


@generator("minus-inf-prefix", "every score of the first third -inf: rows that weigh nothing", expect="exact")
def minus_inf_prefix(request: Request) -> F32Array:
    """Whole warps, and with a small chunk whole splits, see no finite score and must add nothing."""
    kept, _ = _base(request)
    dead = request.case.kv_len // 3
    kept[:dead] = False
    kept[-1] = True
    whole_values(request, kept)
    request.q[:, DIM] = np.abs(request.q[:, DIM])
    _rewrite_keys(request, kept)
    request.k[:dead, :, DIM] = -np.inf
    return kept_means(request, kept)


def _rewrite_keys(request: Request, kept: Mask) -> None:
    """K again for a changed choice of keys, along the signs of q (which are those of K's direction)."""
    direction = np.sign(request.q[:: request.case.group_size])
    request.k[...] = np.where(kept[:, :, None], KEPT, -KEPT) * direction


@generator("inf-value", "inf in V: ±inf where the row weighs 1, NaN where both meet or the weight is 0", expect="exact")
def inf_value(request: Request) -> F32Array:
    """Only the dimension that holds it is touched."""
    kept, kv_head = _base(request)
    exact = kept_means(request, kept)
    heads = request.heads_of(kv_head)
    last = _pick(kept, kv_head, live=True)
    first = int(np.flatnonzero(kept[:, kv_head])[0])
    request.v[last, kv_head, 1] = np.inf
    request.v[first, kv_head, 2] = -np.inf
    request.v[last, kv_head, 130] = np.inf
    request.v[first, kv_head, 130] = -np.inf
    request.v[_pick(kept, kv_head, live=False), kv_head, 255] = np.inf
    for dim, value in ((1, np.inf), (2, -np.inf), (130, np.nan), (255, np.nan)):
        exact[heads, dim] = value
    return exact


@generator(
    "inf-rows",
    "+inf in every kept row of V, each in a dimension of its own: +inf there, the rest exact",
    expect="exact",
)
def inf_rows(request: Request) -> F32Array:
    """A row or a partial sum that is used once more with weight 0, such as a stale one behind a mask, makes a NaN."""
    kept = keep_some(request)
    whole_values(request, kept)
    exact = kept_means(request, kept)
    for key, kv_head in np.argwhere(kept):
        dim = key % request.case.head_dim
        request.v[key, kv_head, dim] = np.inf
        exact[request.heads_of(kv_head), dim] = np.inf
    return exact
