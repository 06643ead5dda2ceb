"""The oracle against arbitrary precision, and its meaning of NaN and infinity."""

from __future__ import annotations

import tracemalloc

import mpmath  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffcheck.cases import get_case
from diffcheck.generators import generate
from diffcheck.oracle import oracle, oracle_for
from diffcheck.planning import plan_for

F32Array = npt.NDArray[np.float32]


def drawn(seed: int, heads: tuple[int, int], kv_len: int, dim: int, magnitude: float) -> tuple[F32Array, ...]:
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((heads[0], dim), dtype=np.float32) * np.float32(magnitude)
    k, v = (rng.standard_normal((kv_len, heads[1], dim), dtype=np.float32) for _ in range(2))
    return q, k, v


def precise(q: F32Array, k: F32Array, v: F32Array) -> list[list[mpmath.mpf]]:
    """Attention in 60 digits, without a maximum: mpmath's exponents do not overflow."""
    group = q.shape[0] // k.shape[1]
    out = []
    with mpmath.workdps(60):
        for head, row in enumerate(q):
            keys, values = k[:, head // group].tolist(), v[:, head // group].tolist()
            weights = [mpmath.exp(mpmath.fdot(row.tolist(), key) / mpmath.sqrt(len(row))) for key in keys]
            total = mpmath.fsum(weights)
            out.append([mpmath.fdot(weights, column) / total for column in zip(*values, strict=True)])
    return out


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    group=st.integers(1, 3),
    kv_heads=st.integers(1, 2),
    kv_len=st.integers(1, 6),
    magnitude=st.sampled_from([0.0, 1e-30, 1.0, 60.0, 3e4, 1e8]),
)
def test_the_oracle_agrees_with_60_digits(seed: int, group: int, kv_heads: int, kv_len: int, magnitude: float) -> None:
    q, k, v = drawn(seed, (group * kv_heads, kv_heads), kv_len, 32, magnitude)
    expected = precise(q, k, v)
    result = oracle(q, k, v, detail=True, block=4)
    assert result.detail is not None
    # A score's error is an error of its exponential: 32 products in f64, of the size that `score_abs` states.
    tolerance = 64 * 2.0**-53 * (1 + result.detail.score_abs)
    for head, row in enumerate(expected):
        for index, value in enumerate(row):
            error = abs(mpmath.mpf(float(result.out[head, index])) - value)
            assert error <= tolerance[head] * result.detail.weight_abs[head, index]


def test_a_case_of_full_width_agrees_with_60_digits() -> None:
    q, k, v = drawn(3, (2, 1), 5, 256, 20.0)
    result = oracle(q, k, v)
    for head, row in enumerate(precise(q, k, v)):
        assert max(abs(float(result.out[head, index] - float(value))) for index, value in enumerate(row)) < 1e-12


def test_scores_too_large_for_an_exponential_are_no_trouble() -> None:
    q = np.full((1, 128), 1e15, dtype=np.float32)
    k = np.linspace(-1, 1, 5, dtype=np.float32)[:, None, None] * np.ones((1, 1, 128), dtype=np.float32)
    v = np.arange(5, dtype=np.float32)[:, None, None] * np.ones((1, 1, 128), dtype=np.float32)
    assert np.array_equal(oracle(q, k, v).out, np.full((1, 128), 4.0))


def test_blocks_do_not_change_the_result() -> None:
    q, k, v = drawn(1, (6, 2), 301, 128, 3.0)
    whole = oracle(q, k, v, detail=True)
    for block in (1, 7, 300):
        parts = oracle(q, k, v, detail=True, block=block)
        assert np.allclose(parts.out, whole.out, rtol=0, atol=1e-13)
        assert parts.detail is not None
        assert whole.detail is not None
        assert np.allclose(parts.detail.spread, whole.detail.spread, rtol=1e-12)


def test_the_detail_is_what_its_names_say() -> None:
    q, k, v = (array.astype(np.float64) for array in drawn(2, (4, 2), 9, 128, 2.0))
    detail = oracle(q, k, v, detail=True, block=4).detail
    assert detail is not None
    for head in range(4):
        keys, values = k[:, head // 2], v[:, head // 2]
        scores = keys @ q[head] / np.sqrt(128)
        p = np.exp(scores) / np.exp(scores).sum()
        assert np.allclose(detail.weight_abs[head], p @ np.abs(values))
        assert np.allclose(detail.spread[head], p @ np.abs(values - p @ values))
        assert detail.score_abs[head] == pytest.approx((np.abs(keys) @ np.abs(q[head])).max() / np.sqrt(128))
        assert detail.value_max[head] == np.abs(values).max()


def test_f16_inputs_and_strides_are_read_as_they_are() -> None:
    inputs = generate(get_case("random-8x2-L65-f16-packed"), plan_for(get_case("random-8x2-L65-f16-packed")))
    arrays = [np.ascontiguousarray(a.view).astype(np.float64) for a in (inputs.q, inputs.k, inputs.v)]
    assert np.allclose(oracle_for(inputs).out, oracle(*arrays).out, rtol=1e-14)
    assert oracle_for(inputs).detail is None


def test_nan_and_infinity_follow_ieee() -> None:
    q, k, v = drawn(5, (2, 2), 6, 128, 1.0)
    q[:, 0] = 1
    spoiled = k.copy()
    spoiled[2, 0, 0] = np.inf
    assert np.isnan(oracle(q, spoiled, v).out).tolist() == [[True] * 128, [False] * 128]
    spoiled[2, 0, 0] = -np.inf
    assert np.allclose(oracle(q, spoiled, v).out[0], oracle(q, np.delete(k, 2, 0), np.delete(v, 2, 0)).out[0])
    spoiled[:, 0, 0] = -np.inf
    assert np.isnan(oracle(q, spoiled, v).out).tolist() == [[True] * 128, [False] * 128]
    values = v.copy()
    values[1, 1, 3] = np.nan
    values[4, 1, 5] = -np.inf
    out = oracle(q, k, values).out
    assert np.argwhere(np.isnan(out)).tolist() == [[1, 3]]
    assert np.argwhere(out == -np.inf).tolist() == [[1, 5]]


def test_memory_stays_that_of_the_scores() -> None:
    # Rows with a stride of 0 stand in for a context that the test need not hold.
    row = np.ones((1, 4, 256), dtype=np.float16)
    k = np.broadcast_to(row, (8192, 4, 256))
    q = np.ones((24, 256), dtype=np.float32)
    tracemalloc.start()
    try:
        out = oracle(q, k, k).out
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.allclose(out, 1, rtol=1e-12)
    # 262,144 keys take 32 times this, which has to stay well below 2 GB.
    assert peak < 30e6


@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ((4, 128), (5, 3, 128), (5, 3, 128)),
        ((4, 128), (5, 2, 64), (5, 2, 64)),
        ((4, 128), (5, 2, 128), (6, 2, 128)),
        ((4, 128), (0, 2, 128), (0, 2, 128)),
        ((4, 128), (5, 0, 128), (5, 0, 128)),
        ((128,), (5, 2, 128), (5, 2, 128)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="needed"):
        oracle(np.zeros(q), np.zeros(k), np.zeros(v))
