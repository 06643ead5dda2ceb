"""The oracle of the reduce kernel alone: partials merged by log-sum-exp in f64, and how far f32 may be from it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, log1p

import numpy as np
import numpy.typing as npt

from diffcheck.bounds import CUT_OFF, EXP_ULPS, LEAST, REDUCE_CLASSES, U
from diffcheck.buffers import FloatArray

F64Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Merged:
    """The merged result f64 `[num_q_heads, D]`, and the largest error that each word of an f32 result may have."""

    out: F64Array
    bound: F64Array


def merge(m: FloatArray, s: FloatArray, acc: FloatArray) -> Merged:
    """Merge maxima and sums `[num_q_heads, n_splits]` and rows `[num_q_heads, n_splits, D]`, not normalised.

    A split with the sum 0 is empty. The bound (docs/bounds.md, "The reduce kernel alone") holds for sums >= 0; raises
    `ValueError` for others, and for heads without a live split, which have no number for a result.
    """
    sums = s.astype(np.float64)
    live = sums > 0
    if not (live.any(axis=1).all() and np.all(sums >= 0)):
        raise ValueError("no bound for a head without a live split, or with a sum below 0")
    top = np.where(live, m, -np.inf).max(axis=1, keepdims=True).astype(np.float64)
    weights = np.where(live, np.exp(np.where(live, m, top) - top), 0)
    total = (weights * sums).sum(axis=1)[:, None]
    rows = acc.astype(np.float64)
    out = (weights[:, :, None] * rows).sum(axis=1) / total
    size = (weights[:, :, None] * np.abs(rows)).sum(axis=1) / total
    return Merged(out, _bound(m.shape[1], size, np.abs(rows).max(axis=(1, 2))[:, None] / total))


def _bound(n_splits: int, size: F64Array, largest: F64Array) -> F64Array:
    """`size` is Σ w |acc| and `largest` the largest |acc|, both over Σ w s."""
    # One subtraction of maxima, of at most 87 where the weight is not cut off, and one exponential.
    weight = U * CUT_OFF - log1p(-EXP_ULPS * 2 * U)
    in_a_class = ceil(n_splits / REDUCE_CLASSES)
    sums = (2 * (in_a_class + REDUCE_CLASSES - 1) + 1) * -log1p(-U)
    lost = 2 * n_splits * exp(-CUT_OFF) * (largest + size)
    denormal = (2 * n_splits + 2 * REDUCE_CLASSES + 1) * LEAST
    return np.asarray(np.expm1(2 * weight + sums) * size + lost + denormal)
