"""How far an f32 result may lie from the oracle: derived in docs/bounds.md, which uses the names of this module.

Two kinds. *Worst case*: no input at all may pass it; relative to Σ p |v| and Σ p |v - out| of each word. *Statistical*:
for independent N(0,1) inputs only, relative to the row's largest output; there the worst case would say nothing, as the
sum cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, isqrt, log1p, log2, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from diffcheck.cases import Case
from diffcheck.oracle import OracleResult
from diffcheck.planning import PlanLike, steps_per_split

F64Array = npt.NDArray[np.float64]
Kind = Literal["statistical", "worst-case"]

U = 2.0**-24
"""The unit roundoff of f32."""
LEAST = 2.0**-150
"""The largest rounding error of an operation whose result is denormal."""
LANES = 32
TREE_LEVELS = 5
REDUCE_CLASSES = 8
NAIVE_WARPS = 8
EXP_ULPS = 0.8914
"""The error of the contract's exponential, from its sweep over every f32 in range."""
CUT_OFF = 87.0
RANDOM = 1e-6
"""The bound for N(0,1) inputs, of the row's largest output, up to `RANDOM_ROWS` rows summed in sequence by a warp."""
RANDOM_ROWS = 1000
"""The most that a plan of the suites has on the H200 profile: 24/4 heads at 262,144 keys."""
DEVIATIONS = 3.0
"""The bound in root mean squares, past `RANDOM_ROWS`."""
ROUNDING_RMS = 0.425
"""Root mean square of one rounding's relative error, in U: uniform in the last place, over log-uniform significands."""
WEIGHT_RMS = 4.0
"""Root mean square of a weight's relative error for N(0,1) inputs, in U: score 1.3, subtraction 1.5, exponential 0.6,
and as much again for the rescales and merges that it goes through."""


@dataclass(frozen=True, slots=True)
class Roundings:
    """How often a key's contribution is rounded at most on its way to the output.

    `factors` exponentials multiply a weight; `numerator` and `denominator` count the f32 operations after it, the last
    division with the numerator; `in_sequence` rows are summed one after the other in one warp; `merges` partial sums
    follow in sequence.
    """

    factors: int
    numerator: int
    denominator: int
    in_sequence: int
    merges: int


@dataclass(frozen=True, eq=False)
class Bound:
    """The largest |error| that each word may have, f64 `[num_q_heads, D]`, and which derivation it comes from."""

    absolute: F64Array
    kind: Kind

    def relative(self, reference: F64Array) -> F64Array:
        """Each row's largest bound over its largest finite |reference|, `[num_q_heads]`; inf for a row of zeros."""
        size = np.where(np.isfinite(reference), np.abs(reference), 0).max(axis=1)
        largest = self.absolute.max(axis=1)
        return np.asarray(np.divide(largest, size, out=np.full(size.shape, np.inf), where=size > 0))


def split_roundings(plan: PlanLike) -> Roundings:
    """Count the roundings of partial and reduce, as the contract orders them (sections 5 and 6)."""
    steps, warps, rows = steps_per_split(plan), plan.tile.warps, plan.tile.rows
    merges = warps + ceil(plan.n_splits / REDUCE_CLASSES) + REDUCE_CLASSES - 1
    return Roundings(
        factors=1 + (steps - 1) + 2,
        numerator=steps * rows + (steps - 1) + merges + 1,
        denominator=steps + (steps - 1) + ceil(log2(rows)) + merges,
        in_sequence=steps * rows,
        merges=merges,
    )


def naive_roundings(kv_len: int) -> Roundings:
    """Count the roundings of the naive kernel (section 9), which sums `kv_len / 8` rows in sequence."""
    steps = ceil(kv_len / NAIVE_WARPS)
    return Roundings(
        factors=1 + (steps - 1) + 1,
        numerator=steps + (steps - 1) + NAIVE_WARPS + 1,
        denominator=steps + (steps - 1) + NAIVE_WARPS,
        in_sequence=steps,
        merges=NAIVE_WARPS,
    )


def split_bound(case: Case, plan: PlanLike, reference: OracleResult) -> Bound:
    """The bound of a split-K result against `reference`, by the case's generator."""
    return _bound(case, split_roundings(plan), reference)


def naive_bound(case: Case, reference: OracleResult) -> Bound:
    """The bound of the naive kernel's result against `reference`; it grows with `kv_len`."""
    return _bound(case, naive_roundings(reference.kv_len), reference)


def score_roundings(head_dim: int) -> int:
    """`c` of the term `c · U · max_j Σ|q k|/√D`: how far the scores' roundings move the exponent of a weight.

    A score rounds once per element of its lane and once per tree level; where √D is no power of two, its own rounding
    and the division's come on top. The subtractions of maxima round at most 2 max|score| in all.
    """
    root = isqrt(head_dim)
    exact_root = root * root == head_dim and root & (root - 1) == 0
    return head_dim // LANES + TREE_LEVELS + (0 if exact_root else 2) + 2


def weight_exponent(roundings: Roundings, head_dim: int, score_abs: F64Array) -> F64Array:
    """The most by which the logarithm of any weight is off, for each head: scores and exponentials."""
    exponentials = roundings.factors * -log1p(-EXP_ULPS * 2 * U)
    return np.asarray(score_roundings(head_dim) * U * score_abs + exponentials)


def sum_exponent(roundings: Roundings) -> float:
    """The most by which the logarithm of any term of a ratio of sums is off, by the roundings of the sums."""
    return (roundings.numerator + roundings.denominator) * -log1p(-U)


def statistical_relative(roundings: Roundings) -> float:
    """The bound for N(0,1) inputs, relative to the row's largest output."""
    n, merges = roundings.in_sequence, roundings.merges
    if n <= RANDOM_ROWS:
        return RANDOM
    # A sum of n random terms grows as √n, so its n roundings add up to n/√2 of a term's: √(n/2) of the sum itself. The
    # denominator's terms are all positive (n/√3 of the sum), but it is made of at least 8 independent sums.
    walk = n / 2 + n / (3 * NAIVE_WARPS) + merges / 2
    return max(RANDOM, DEVIATIONS * sqrt(WEIGHT_RMS**2 + ROUNDING_RMS**2 * walk) * U)


def _bound(case: Case, roundings: Roundings, reference: OracleResult) -> Bound:
    from diffcheck.generators import generator_info

    if generator_info(case.generator).statistics == "normal":
        return _statistical(roundings, reference)
    return _worst_case(case, roundings, reference)


def _statistical(roundings: Roundings, reference: OracleResult) -> Bound:
    scale = np.abs(reference.out).max(axis=1)
    absolute = np.broadcast_to((statistical_relative(roundings) * scale)[:, None], reference.out.shape)
    return Bound(absolute, "statistical")


def _worst_case(case: Case, roundings: Roundings, reference: OracleResult) -> Bound:
    detail, kv_len = reference.detail, reference.kv_len
    if detail is None:
        raise ValueError(f"{case.name}: this bound needs the oracle's detail")
    # Past these an f32 sum or score may overflow, and no rounding bound applies; NaN must not pass either.
    if not (np.all(detail.value_max * kv_len < 2.0**127) and np.all(detail.score_abs < 2.0**120)):
        raise ValueError(f"{case.name}: no bound for values or scores that are not finite or may overflow f32")
    omega = weight_exponent(roundings, case.head_dim, detail.score_abs)[:, None]
    weights = np.expm1(omega) * np.exp(omega) * detail.spread
    sums = np.expm1(sum_exponent(roundings)) * np.exp(2 * omega) * detail.weight_abs
    lost = 4 * kv_len * exp(-CUT_OFF) * detail.value_max[:, None]
    denormal = (8 * kv_len + 33) * LEAST
    return Bound(weights + sums + lost + denormal, "worst-case")
