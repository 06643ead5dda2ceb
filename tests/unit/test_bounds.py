"""The bounds hold for f32 arithmetic in the contract's order, and still catch damage not much larger than they are.

The arithmetic is emulated here with numpy, for both kernels, so that these tests need no kernel and no twin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from diffcheck.bounds import (
    RANDOM,
    Roundings,
    U,
    naive_bound,
    naive_roundings,
    score_roundings,
    split_bound,
    split_roundings,
    statistical_relative,
    sum_exponent,
    weight_exponent,
)
from diffcheck.cases import Case, get_case, select
from diffcheck.compare import within_bound
from diffcheck.generators import generate, widened
from diffcheck.judge import attention_oracle, judge_naive, judge_split
from diffcheck.oracle import oracle_for
from diffcheck.planning import PlanLike, plan_for, split_ranges

F32Array = npt.NDArray[np.float32]
F64Array = npt.NDArray[np.float64]
QUICK_BOUND = [case for case in select("quick") if case.expect == "bound" and case.stage == "decode"]


@dataclass(frozen=True)
class SomeTile:
    warps: int
    rows: int


@dataclass(frozen=True)
class SomePlan:
    kv_len: int
    chunk: int
    n_splits: int
    tile: SomeTile


def rn(x: F64Array) -> F64Array:
    """Round to f32; an f64 that holds an f32 FMA's exact product and sum is close enough to round but once."""
    return x.astype(np.float32).astype(np.float64)


def exponential(x: F64Array) -> F64Array:
    return np.where(x < -87, 0.0, rn(np.exp(x)))


def f32_scores(q: F64Array, k: F64Array, vec: int) -> F64Array:
    """Section 5's scores: lane chains, then the xor tree."""
    heads, dim = q.shape
    lane, group = np.arange(32), heads // k.shape[1]
    dims = [(i // vec) * 32 * vec + lane * vec + i % vec for i in range(dim // 32)]
    keys = np.repeat(k, group, axis=1).transpose(1, 0, 2)
    x = np.zeros((heads, k.shape[0], 32))
    for at in dims:
        x = rn(q[:, None, at] * keys[:, :, at] + x)
    for level in (16, 8, 4, 2, 1):
        x = rn(x + x[:, :, lane ^ level])
    return rn(x[:, :, 0] / np.sqrt(dim))


@dataclass
class Sums:
    """Maximum, sum and accumulator of some warps or splits: `[heads, n]`, `[heads, n]`, `[heads, n, D]`."""

    m: F64Array
    s: F64Array
    acc: F64Array

    def merged(self, classes: int) -> Sums:
        """Merge along n into `classes` interleaved sums, then those in order."""
        m = self.m.max(axis=1)
        factor = exponential(rn(self.m - m[:, None]))
        s, acc = np.zeros((classes, m.size)), np.zeros((classes, m.size, self.acc.shape[2]))
        for j in range(self.m.shape[1]):
            c = j % classes
            s[c] = rn(self.s[:, j] * factor[:, j] + s[c])
            acc[c] = rn(self.acc[:, j] * factor[:, j, None] + acc[c])
        total, sums = s[0], acc[0]
        for c in range(1, classes):
            total, sums = rn(total + s[c]), rn(sums + acc[c])
        return Sums(m, total, sums)


def one_split(scores: F64Array, v: F64Array, keys: tuple[int, int], warps: int, rows: int) -> Sums:
    """The online softmax of one block; V is `[heads, kv_len, D]`."""
    heads, dim = scores.shape[0], v.shape[2]
    m = np.full((heads, warps), -3e38)
    sums, acc = np.zeros((heads, warps, rows)), np.zeros((heads, warps, dim))
    for base in range(keys[0], keys[1], warps * rows):
        at = base + np.arange(warps * rows).reshape(warps, rows)
        live, at = at < keys[1], np.minimum(at, keys[1] - 1)
        score = np.where(live, scores[:, at], -np.inf)
        higher = np.maximum(m, score.max(axis=2))
        factor = exponential(rn(m - higher))
        m, sums, acc = higher, rn(sums * factor[..., None]), rn(acc * factor[..., None])
        p = exponential(rn(score - m[..., None]))
        sums = rn(sums + p)
        for r in range(rows):
            acc = rn(p[:, :, r, None] * np.where(live[:, r, None], v[:, at[:, r]], 0.0) + acc)
    level = rows // 2
    while level:
        sums = rn(sums + sums[:, :, np.arange(rows) ^ level])
        level //= 2
    return Sums(m, sums[:, :, 0], acc).merged(1)


def emulate(q: F32Array, k: F32Array, v: F32Array, plan: PlanLike | None) -> F32Array:
    """The split kernels' result, or the naive kernel's where `plan` is None."""
    group = q.shape[0] // k.shape[1]
    scores = f32_scores(q.astype(np.float64), k.astype(np.float64), 4 if k.itemsize == 4 else 8)
    values = np.repeat(v.astype(np.float64), group, axis=1).transpose(1, 0, 2)
    ranges = [(0, k.shape[0])] if plan is None else split_ranges(plan)
    warps, rows = (8, 1) if plan is None else (plan.tile.warps, plan.tile.rows)
    parts = [one_split(scores, values, keys, warps, rows) for keys in ranges]
    if plan is None:
        whole = parts[0]
    else:
        stacked = [np.stack([getattr(part, name) for part in parts], axis=1) for name in ("m", "s", "acc")]
        whole = Sums(*stacked).merged(8)
    return np.asarray((whole.acc / whole.s[:, None]).astype(np.float32))


@pytest.mark.parametrize("case", QUICK_BOUND, ids=lambda case: case.name)
def test_f32_results_are_within_their_bounds_and_damage_of_three_bounds_is_not(case: Case) -> None:
    plan = plan_for(case)
    inputs = generate(case, plan)
    wide = widened(inputs)
    reference = oracle_for(inputs)
    split = emulate(inputs.q.view, inputs.k.view, inputs.v.view, plan)
    naive = emulate(wide.q.view, wide.k.view, wide.v.view, None)
    for out, verdict, bound in (
        (split, judge_split(inputs, plan, split), split_bound(case, plan, reference)),
        (naive, judge_naive(wide, naive, reference), naive_bound(case, reference)),
    ):
        assert verdict.holds, verdict.reason
        assert verdict.ratio is not None
        assert verdict.ratio < 0.6
        for head, index in ((0, 0), (case.num_q_heads - 1, case.head_dim - 1)):
            damaged = out.copy()
            shift = max(3 * bound.absolute[head, index], 2 * abs(out[head, index]) * U)
            damaged[head, index] += np.float32(shift)
            assert not within_bound(damaged, reference.out, bound).holds


@pytest.mark.parametrize("name", ["needles-8x2-L203-f16-chunk7", "inf-value-6x2-L250-f32-chunk7", "v-one-8x2-L203-f32"])
def test_exact_cases_are_exact_in_both_orders(name: str) -> None:
    case = get_case(name)
    plan = plan_for(case)
    inputs = generate(case, plan)
    assert attention_oracle(inputs) is None
    with np.errstate(invalid="ignore"):
        split = emulate(inputs.q.view, inputs.k.view, inputs.v.view, plan)
        naive = emulate(inputs.q.view, inputs.k.view, inputs.v.view, None)
    assert judge_split(inputs, plan, split).holds
    assert judge_naive(inputs, naive).holds
    split[1, 9] = np.nextafter(split[1, 9], np.float32(np.inf))
    assert not judge_split(inputs, plan, split).holds
    assert not judge_naive(inputs, split).holds


def test_bounds_say_something() -> None:
    """Far below what f16 arithmetic (2^-11) would cost, wherever the softmax does not sit on a knife's edge."""
    for case in QUICK_BOUND:
        plan = plan_for(case)
        reference = oracle_for(generate(case, plan))
        bound = split_bound(case, plan, reference)
        if np.abs(reference.out).max() < 2.0**-149:
            continue  # the smallest f32 is above every output: no error is relative to those
        assert bound.relative(reference.out).max() < 2.0**-11 / 2
        if case.generator == "random":
            assert bound.kind == "statistical"
            assert np.allclose(bound.relative(reference.out), 1e-6)
        else:
            assert bound.kind == "worst-case"


def test_a_weight_that_was_rounded_to_f16_is_caught() -> None:
    case = get_case("random-8x2-L65-f32")
    plan = plan_for(case)
    inputs = generate(case, plan)
    q, k, v = (placed.view.astype(np.float64) for placed in (inputs.q, inputs.k, inputs.v))
    out = np.empty((8, 256), dtype=np.float32)
    for head in range(8):
        scores = k[:, head // 4] @ q[head] / 16
        weights = np.exp(scores - scores.max()).astype(np.float16).astype(np.float64)
        out[head] = (weights @ v[:, head // 4] / weights.sum()).astype(np.float32)
    assert not judge_split(inputs, plan, out).holds
    assert not judge_naive(inputs, out).holds


def test_roundings_of_a_known_plan() -> None:
    # Chunks of 125 take two steps of 8 warps of 8 rows; 33 splits are 5 in the fullest of 8 classes.
    plan = SomePlan(kv_len=4096, chunk=125, n_splits=33, tile=SomeTile(warps=8, rows=8))
    merges = 8 + 5 + 7
    assert split_roundings(plan) == Roundings(
        factors=1 + 1 + 2, numerator=16 + 1 + merges + 1, denominator=2 + 1 + 3 + merges, in_sequence=16, merges=merges
    )
    assert naive_roundings(4097) == Roundings(
        factors=514, numerator=513 + 512 + 9, denominator=513 + 512 + 8, in_sequence=513, merges=8
    )


def test_constants_of_the_score() -> None:
    assert score_roundings(256) == 8 + 5 + 2
    # √128 and √512 are no powers of two.
    assert score_roundings(128) == 4 + 5 + 2 + 2
    assert score_roundings(512) == 16 + 5 + 2 + 2
    assert score_roundings(1024) == 32 + 5 + 2


def test_every_split_plan_of_the_suites_has_the_stated_bound_and_the_naive_one_grows() -> None:
    for case in select("rungs"):
        assert statistical_relative(split_roundings(plan_for(case))) == RANDOM
    growth = [statistical_relative(naive_roundings(kv_len)) for kv_len in (4096, 8192, 20000, 60000, 148000, 262144)]
    assert growth[0] == RANDOM
    assert growth == sorted(growth)
    assert growth[-1] == pytest.approx(3 * 0.425 * np.sqrt(262144 / 16 * 13 / 12) * U, rel=0.02)
    few_splits = split_roundings(plan_for(replace(select("rungs")[-1], policy="fixed:4")))
    assert statistical_relative(few_splits) > RANDOM


def test_worst_case_terms_grow_with_scores_and_sums() -> None:
    small, large = naive_roundings(64), naive_roundings(6400)
    scores = np.array([0.0, 10.0])
    assert np.all(np.diff(weight_exponent(small, 256, scores)) == pytest.approx(15 * U * 10))
    assert weight_exponent(large, 256, scores)[0] > 50 * weight_exponent(small, 256, scores)[0]
    assert sum_exponent(large) == pytest.approx((2 * (800 + 799) + 17) * U, rel=1e-6)


def test_the_cut_off_and_denormals_have_their_absolute_share() -> None:
    case = get_case("rising-8x2-L203-f32-fixed1")
    plan = plan_for(case)
    inputs = generate(case, plan)
    inputs.v.view[...] = 0
    reference = oracle_for(inputs)
    bound = split_bound(case, plan, reference)
    assert np.all(bound.absolute > 0)
    assert np.all(bound.absolute < 2.0**-126)
    assert within_bound(np.zeros((8, 256), np.float32), reference.out, bound).holds
    assert np.all(np.isinf(bound.relative(reference.out)))


@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
def test_no_bound_is_given_where_none_holds(value: float) -> None:
    case = get_case("large-logits-8x2-L203-f32")
    plan = plan_for(case)
    inputs = generate(case, plan)
    inputs.v.view[5, 1, 7] = value
    with pytest.raises(ValueError, match="not finite or may overflow"):
        split_bound(case, plan, oracle_for(inputs))


def test_a_worst_case_bound_without_the_oracles_detail_is_refused() -> None:
    case = get_case("large-logits-8x2-L203-f32")
    plan = plan_for(case)
    reference = replace(oracle_for(generate(case, plan)), detail=None)
    with pytest.raises(ValueError, match="detail"):
        naive_bound(case, reference)
