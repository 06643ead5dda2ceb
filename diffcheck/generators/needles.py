"""A needle at every chunk, warp and split edge: each key next to an edge counts, and no other does."""

from __future__ import annotations

import numpy as np

from diffcheck.generators.base import F32Array, Request, generator, mean_of
from diffcheck.generators.normal import fill_normal
from diffcheck.generators.walsh import signs
from diffcheck.planning import edge_keys

NEEDLE = 16
"""A needle's score is `NEEDLE · sqrt(head_dim)`, 256 for head_dim 256, among N(0,1): nothing else weighs anything."""


@generator("needles", "needles at every split, step and warp edge, shared out among the group's heads", expect="exact")
def needles(request: Request) -> F32Array:
    """Each head looks for every G-th edge key; its result is the mean of their values, whole numbers.

    Needles tie for the maximum, so each weighs exactly 1: a key that is dropped, read twice or taken from a neighbour
    changes the sum.
    """
    case = request.case
    fill_normal(request.k, request.rng("k"))
    fill_normal(request.v, request.rng("v"))
    edges = np.array(edge_keys(request.plan))
    whole = request.rng("needles").integers(1, 128, (edges.size, case.num_kv_heads, case.head_dim))
    request.v[edges] = whole
    request.k[edges] = 0
    exact = np.empty((case.num_q_heads, case.head_dim), dtype=np.float32)
    for kv_head in range(case.num_kv_heads):
        for g in range(case.group_size):
            head = kv_head * case.group_size + g
            direction = signs(g, case.head_dim)
            request.q[head] = direction
            mine = _share(edges.size, g, kv_head, case.group_size)
            request.k[edges[mine], kv_head] += NEEDLE * direction
            exact[head] = mean_of(whole[mine, kv_head], mine.size)
    return exact


def _share(count: int, g: int, kv_head: int, group_size: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Indices of the edges that head `g` of the group looks for; KV heads deal them out differently."""
    if count <= group_size:
        return np.array([(g + kv_head) % count])
    return np.arange((g + kv_head) % group_size, count, group_size)
