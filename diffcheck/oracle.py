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
BLOCK_KEYS = 128
"""Keys a block: it stays in the cache, and its products are too small for the BLAS to spread over threads, which would
wait for each other where the machine is busy."""


@dataclass(frozen=True, eq=False)
class OracleDetail:
    """The sizes that the worst-case bound is made of, with p the softmax weights of a head.

    `weight_abs` `[num_q_heads, D]` is Σ_j p_j |v_jd|, `spread` `[num_q_heads, D]` is Σ_j p_j |v_jd - out_d|,
    `score_abs` `[num_q_heads]` is max_j Σ_d |q_d k_jd| / √D, and `value_max` `[num_q_heads]` is the head's max |v|.
    """

    weight_abs: F64Array
    spread: F64Array
    score_abs: F64Array
    value_max: F64Array


@dataclass(frozen=True, eq=False)
class OracleResult:
    """The exact result of a case up to f64 rounding, and the sizes that the bounds are made of.

    `out` is f64 `[num_q_heads, D]`. `detail` is there where it was asked for.
    """

    out: F64Array
    kv_len: int
    detail: OracleDetail | None = None


def oracle(
    q: FloatArray, k: FloatArray, v: FloatArray, *, detail: bool = False, block: int = BLOCK_KEYS
) -> OracleResult:
    """Attention of q `[num_q_heads, D]` over K and V `[kv_len, num_kv_heads, D]`, in f64, whatever dtypes come in.

    Softmax as IEEE arithmetic gives it: a score of NaN or +inf, or scores that are all -inf, make the head NaN. Raises
    `ValueError` for shapes that do not fit together, and for no keys.
    """
    _check(q, k, v)
    group = q.shape[0] // k.shape[1]
    query = q.astype(np.float64)
    out = np.zeros(q.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        weights = _weights(query, k, block)
        for keys, kv_head, part in _blocks(v, block):
            mine = slice(kv_head * group, (kv_head + 1) * group)
            out[mine] += weights[mine, keys] @ part
        found = _detail(_score_abs(query, k, block), weights, v, out, block) if detail else None
    return OracleResult(out, k.shape[0], found)


def oracle_for(inputs: Inputs) -> OracleResult:
    """The oracle's result for generated inputs, with `detail` where the case's bound needs it."""
    return oracle(inputs.q.view, inputs.k.view, inputs.v.view, detail=_info(inputs).statistics != "normal")


def _info(inputs: Inputs) -> GeneratorInfo:
    from diffcheck.generators import generator_info

    return generator_info(inputs.case.generator)


def _weights(query: F64Array, k: FloatArray, block: int) -> F64Array:
    """The softmax weights, `[num_q_heads, kv_len]`."""
    heads, dim = query.shape
    group = heads // k.shape[1]
    scores = np.empty((heads, k.shape[0]))
    for keys, kv_head, part in _blocks(k, block):
        mine = slice(kv_head * group, (kv_head + 1) * group)
        scores[mine, keys] = query[mine] @ part.T
    scores /= np.sqrt(dim)
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def _score_abs(query: F64Array, k: FloatArray, block: int) -> F64Array:
    heads, dim = query.shape
    group = heads // k.shape[1]
    most = np.zeros(heads)
    for _, kv_head, part in _blocks(k, block):
        mine = slice(kv_head * group, (kv_head + 1) * group)
        most[mine] = np.maximum(most[mine], (np.abs(query[mine]) @ np.abs(part).T).max(axis=1))
    return np.asarray(most / np.sqrt(dim))


def _detail(score_abs: F64Array, weights: F64Array, v: FloatArray, out: F64Array, block: int) -> OracleDetail:
    group = out.shape[0] // v.shape[1]
    weight_abs, spread, value_max = np.zeros(out.shape), np.zeros(out.shape), np.zeros(out.shape[0])
    for keys, kv_head, part in _blocks(v, block):
        mine = slice(kv_head * group, (kv_head + 1) * group)
        magnitude = np.abs(part)
        value_max[mine] = np.maximum(value_max[mine], magnitude.max())
        weight_abs[mine] += weights[mine, keys] @ magnitude
        for head in range(mine.start, mine.stop):
            spread[head] += weights[head, keys] @ np.abs(part - out[head])
    return OracleDetail(weight_abs, spread, score_abs, value_max)


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
