"""Two decodes in a row, of which the first finds what the second one looks for."""

from __future__ import annotations

import numpy as np

from diffcheck.generators.base import F32Array, Request, generator
from diffcheck.generators.needles import NEEDLE
from diffcheck.generators.normal import fill_normal
from diffcheck.generators.walsh import signs


@generator("hops", "a needle's value is the query of a second decode", expect="exact", stage="chain")
def hops(request: Request) -> F32Array:
    """Each head finds one key, whose value is a direction, and then the key of that direction: its whole numbers.

    A needle is the only key that weighs anything, so each of the two results is one row of V, to the last bit. Whatever
    else the second decode takes for its query (what was there before, another head's, a part of it) finds other keys.

    Raises `ValueError` where a group's needles are more than the keys.
    """
    case, group = request.case, request.case.group_size
    if case.kv_len < 2 * group:
        raise ValueError(f"hops: {case.kv_len} keys are too few for two needles of each of {group} heads")
    fill_normal(request.k, request.rng("k"))
    fill_normal(request.v, request.rng("v"))
    rng = request.rng("needles")
    whole = rng.integers(1, 128, request.q.shape).astype(np.float32)
    for kv_head in range(case.num_kv_heads):
        keys = rng.permutation(case.kv_len)[: 2 * group]
        first, second = (np.stack([signs(i, case.head_dim) for i in range(n, n + group)]) for n in (0, group))
        heads = request.heads_of(kv_head)
        request.q[heads] = first
        request.k[keys, kv_head] = NEEDLE * np.concatenate((first, second))
        request.v[keys, kv_head] = np.concatenate((second, whole[heads]))
    return whole
