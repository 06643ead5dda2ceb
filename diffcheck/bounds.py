"""How far an f32 result may lie from the oracle: derived in docs/bounds.md, which uses the names of this module.

Two kinds. *Worst case*: no input at all may pass it, relative to Σ p |v| of the word. *Statistical*: for independent
N(0,1) inputs only, relative to the row's largest output; there the worst case would say nothing, as the sum cancels.
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
"""The bound for N(0,1) inputs, of the row's largest output, as long as `DEVIATIONS · rms` stays below it."""
DEVIATIONS = 2.0
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
    """The largest |error| that is allowed, f64 `[num_q_heads, D]`, and how it came about.

    `relative` and `scale` are a head's: `absolute` is `relative` times the row's largest output ("statistical"), or
    times each word's Σ p |v| ("worst-case", where `scale` is the row's largest).
    """

    absolute: F64Array
    kind: Kind
    relative: F64Array
    scale: F64Array

    def to_json(self) -> dict[str, object]:
        """The kind and the largest relative bound of any head."""
        return {"kind": self.kind, "relative": float(self.relative.max())}


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


def score_constant(head_dim: int) -> int:
    """`c` of the bound `c · U · max_j Σ|q k|/√D`: what the scores' rounding does to a ratio of weighted sums.

    A score rounds once per element of its lane and once per tree level; where √D is no power of two, its own rounding
    and the division's come on top. The subtractions of maxima round at most 2 max|score| in all. Twice, as a weight
    stands in the numerator and in the denominator.
    """
    root = isqrt(head_dim)
    exact_root = root * root == head_dim and root & (root - 1) == 0
    return 2 * (head_dim // LANES + TREE_LEVELS + (0 if exact_root else 2) + 2)


def worst_case_relative(roundings: Roundings, head_dim: int, score_abs: F64Array) -> F64Array:
    """The relative bound of each head, `[num_q_heads]`, of any result whose weights and sums round so often."""
    exponentials = 2 * roundings.factors * -log1p(-EXP_ULPS * 2 * U)
    sums = (roundings.numerator + roundings.denominator) * -log1p(-U)
    return np.expm1(score_constant(head_dim) * U * score_abs + exponentials + sums)


def statistical_relative(roundings: Roundings) -> float:
    """The bound for N(0,1) inputs, relative to the row's largest output."""
    n, merges = roundings.in_sequence, roundings.merges
    # A sum of n random terms grows as √n, so its n roundings add up to n/√2 of a term's: √(n/2) of the sum itself. The
    # denominator's terms are all positive (n/√3 of the sum), but it is made of at least 8 independent sums.
    walk = n / 2 + n / (3 * NAIVE_WARPS) + merges / 2
    rms = sqrt(WEIGHT_RMS**2 + ROUNDING_RMS**2 * walk) * U
    return max(RANDOM, DEVIATIONS * rms)


def _bound(case: Case, roundings: Roundings, reference: OracleResult) -> Bound:
    from diffcheck.generators import generator_info

    if generator_info(case.generator).statistics == "normal":
        return _statistical(roundings, reference)
    return _worst_case(case, roundings, reference)


def _statistical(roundings: Roundings, reference: OracleResult) -> Bound:
    scale = np.abs(reference.out).max(axis=1)
    relative = np.full(scale.shape, statistical_relative(roundings))
    absolute = np.broadcast_to((relative * scale)[:, None], reference.out.shape)
    return Bound(absolute, "statistical", relative, scale)


def _worst_case(case: Case, roundings: Roundings, reference: OracleResult) -> Bound:
    weight_abs, score_abs, value_max = reference.weight_abs, reference.score_abs, reference.value_max
    if weight_abs is None or score_abs is None or value_max is None:
        raise ValueError(f"{case.name}: this bound needs the oracle's detail")
    # Past these an f32 sum or score may overflow, and no rounding bound applies; NaN must not pass either.
    if not (np.all(value_max * reference.kv_len < 2.0**127) and np.all(score_abs < 2.0**120)):
        raise ValueError(f"{case.name}: no bound for values or scores that are not finite or may overflow f32")
    relative = worst_case_relative(roundings, case.head_dim, score_abs)
    lost = 4 * reference.kv_len * exp(-CUT_OFF) * value_max
    denormal = (8 * reference.kv_len + 33) * LEAST
    absolute = relative[:, None] * weight_abs + lost[:, None] + denormal
    return Bound(absolute, "worst-case", relative, weight_abs.max(axis=1))
