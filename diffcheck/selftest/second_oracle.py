"""A second oracle: attention by the definition, one sum at a time, with Python's own exactly rounded sums.

It shares nothing with `diffcheck.oracle` but the definition: no array arithmetic, no blocks, no BLAS. Slow, and so for
small cases only; the two must agree to about the precision of f64.
"""

from __future__ import annotations

from math import exp, fsum, sqrt

import numpy as np
import numpy.typing as npt

from diffcheck.buffers import FloatArray

F64Array = npt.NDArray[np.float64]
AGREE = 1e-12
"""The largest difference of two oracles, of Σ p |v|: some thousand roundings of f64."""


def second_oracle(q: FloatArray, k: FloatArray, v: FloatArray) -> tuple[F64Array, F64Array]:
    """Return attention f64 `[num_q_heads, D]` and Σ p |v|, which differences are measured by. Finite inputs only."""
    heads, dim = q.shape
    group = heads // k.shape[1]
    out, size = np.empty((heads, dim)), np.empty((heads, dim))
    for head in range(heads):
        kv_head = head // group
        query = [float(x) for x in q[head]]
        scores = [
            fsum(a * float(b) for a, b in zip(query, row, strict=True)) / sqrt(dim) for row in k[:, kv_head].tolist()
        ]
        most = max(scores)
        weights = [exp(score - most) for score in scores]
        total = fsum(weights)
        for d in range(dim):
            column = v[:, kv_head, d].tolist()
            out[head, d] = fsum(w * x for w, x in zip(weights, column, strict=True)) / total
            size[head, d] = fsum(w * abs(x) for w, x in zip(weights, column, strict=True)) / total
    return out, size
