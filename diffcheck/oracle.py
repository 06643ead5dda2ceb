"""The oracle: straight softmax attention in f64, over the whole row at once.

It shares no code and no order of operations with any kernel: no splits, no running maximum, no exponential of its own.
K and V are converted to f64 a block of keys at a time and only the scores `[num_q_heads, kv_len]` are kept, so that
262,144 keys and 24 query heads need about 150 MB besides the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diffcheck.buffers import FloatArray
from diffcheck.generators.base import GeneratorInfo, Inputs

F64Array = npt.NDArray[np.float64]
BLOCK_KEYS = 2048


@dataclass(frozen=True, eq=False)
class OracleResult:
    """The exact result of a case up to f64 rounding, and the sizes that the bounds are made of.

    `out` is f64 `[num_q_heads, D]`. With `detail` also: `weight_abs` `[num_q_heads, D]` = Σ_j p_j |v_jd|, `score_abs`
    `[num_q_heads]` = max_j Σ_d |q_d k_jd| / √D, and `value_max` `[num_q_heads]` = max |v| of the head's V.
    """

    out: F64Array
    kv_len: int
    weight_abs: F64Array | None = None
    score_abs: F64Array | None = None
    value_max: F64Array | None = None


def oracle(
    q: FloatArray, k: FloatArray, v: FloatArray, *, detail: bool = False, block: int = BLOCK_KEYS
) -> OracleResult:
    """Attention of q `[num_q_heads, D]` over K and V `[kv_len, num_kv_heads, D]`, in f64, whatever dtypes come in.

    Softmax as IEEE arithmetic gives it: a score of NaN or +inf, or scores that are all -inf, make the head NaN. Raises
    `ValueError` for shapes that do not fit together, and for no keys.
    """
    _check(q, k, v)
    heads, dim = q.shape
    kv_len, kv_heads, _ = k.shape
    group = heads // kv_heads
    query = q.astype(np.float64)
    scores = np.empty((heads, kv_len))
    score_abs = np.zeros(heads)
    value_max = np.zeros(heads)
    out = np.zeros((heads, dim))
    weight_abs = np.zeros((heads, dim))
    with np.errstate(invalid="ignore", over="ignore"):
        for keys, kv_head, part in _blocks(k, block):
            mine = slice(kv_head * group, (kv_head + 1) * group)
            scores[mine, keys] = query[mine] @ part.T
            if detail:
                most = (np.abs(query[mine]) @ np.abs(part).T).max(axis=1)
                score_abs[mine] = np.maximum(score_abs[mine], most)
        scores /= np.sqrt(dim)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        for keys, kv_head, part in _blocks(v, block):
            mine = slice(kv_head * group, (kv_head + 1) * group)
            out[mine] += weights[mine, keys] @ part
            if detail:
                magnitude = np.abs(part)
                weight_abs[mine] += weights[mine, keys] @ magnitude
                value_max[mine] = np.maximum(value_max[mine], magnitude.max())
    if not detail:
        return OracleResult(out, kv_len)
    return OracleResult(out, kv_len, weight_abs, score_abs / np.sqrt(dim), value_max)


def oracle_for(inputs: Inputs) -> OracleResult:
    """The oracle's result for generated inputs, with detail where the case's bound needs it."""
    return oracle(inputs.q.view, inputs.k.view, inputs.v.view, detail=_info(inputs).statistics != "normal")


def _info(inputs: Inputs) -> GeneratorInfo:
    from diffcheck.generators import generator_info

    return generator_info(inputs.case.generator)


def _blocks(array: FloatArray, block: int) -> Iterator[tuple[slice, int, F64Array]]:
    """Each block of keys of each KV head, as f64 `[keys, D]`."""
    for first in range(0, array.shape[0], block):
        keys = slice(first, min(first + block, array.shape[0]))
        for kv_head in range(array.shape[1]):
            yield keys, kv_head, array[keys, kv_head].astype(np.float64)


def _check(q: FloatArray, k: FloatArray, v: FloatArray) -> None:
    if q.ndim != 2 or k.ndim != 3 or k.shape != v.shape:
        raise ValueError(
            f"q {q.shape}, K {k.shape}, V {v.shape}: [heads, D] and twice [kv_len, kv_heads, D] are needed"
        )
    if k.shape[0] < 1 or k.shape[1] < 1 or q.shape[0] % k.shape[1] or q.shape[1] != k.shape[2]:
        raise ValueError(f"q {q.shape} and K {k.shape} do not fit: equal D, whole groups, and a key are needed")
