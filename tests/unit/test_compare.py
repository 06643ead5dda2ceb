"""The comparators see every difference, and nothing passes by accident."""

from __future__ import annotations

import json
from math import inf

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffcheck.compare import (
    CompareError,
    Verdict,
    bits_equal,
    combine,
    compare,
    exact_rows,
    ordered,
    storage_error,
    within_bound,
)

F32Array = npt.NDArray[np.float32]
WORDS = st.integers(0, 2**32 - 1)


def result(heads: int = 8, dim: int = 256) -> F32Array:
    return np.random.default_rng(7).standard_normal((heads, dim), dtype=np.float32)


def from_bits(*bits: int) -> F32Array:
    return np.array([bits], dtype=np.uint32).view(np.float32)


def test_one_ulp_at_three_of_2048_offsets_moves_that_result_to_99_8535_percent_and_no_other() -> None:
    reference = result()
    damaged = reference.copy()
    bits = damaged.reshape(-1).view(np.uint32)
    bits[[5, 1024, 2047]] += 1
    comparison = compare(damaged, reference)
    assert f"{comparison.whole.bitwise_percent:.4f}" == "99.8535"
    assert comparison.whole.max_ulp == 1
    assert [row.head for row in comparison.rows if row.equal != row.words] == [0, 4, 7]
    assert [row.equal for row in comparison.rows] == [255, 256, 256, 256, 255, 256, 256, 255]
    assert not bits_equal(damaged, reference).holds
    others = [compare(reference + np.float32(n), reference + np.float32(n)).whole for n in range(3)]
    assert all(whole.bitwise_percent == 100 for whole in others)


@pytest.mark.parametrize("offset", [0, 5, 1024, 2047])
def test_the_worst_word_is_named_with_head_index_and_bits(offset: int) -> None:
    reference = np.ones((8, 256), dtype=np.float32)
    damaged = reference.copy()
    damaged.reshape(-1).view(np.uint32)[offset] += 3
    verdict = bits_equal(damaged, reference)
    assert not verdict.holds
    assert f"query head {offset // 256}, index {offset % 256}: 0x3f800003" in verdict.reason
    assert "against 0x3f800000 (1.0)" in verdict.reason
    assert "max 3 ULP" in verdict.reason


def test_any_nan_equals_any_nan() -> None:
    verdict = bits_equal(from_bits(0x7FC00000, 0xFFC12345, 0x7F800001), from_bits(0xFFC00000, 0x7FC00000, 0x7FFFFFFF))
    assert verdict.holds
    assert verdict.comparison is not None
    assert verdict.comparison.whole.max_ulp == 0


@pytest.mark.parametrize("other", [1.0, 0.0, inf, -inf])
def test_nan_against_a_number_never_passes(other: float) -> None:
    left, right = np.full((1, 2), np.nan, np.float32), np.array([[np.nan, other]], np.float32)
    for a, b in ((left, right), (right, left)):
        whole = compare(a, b).whole
        assert (whole.mismatched, whole.max_ulp, whole.equal) == (1, None, 1)
        assert not bits_equal(a, b).holds
        assert not exact_rows(a, b).holds
        assert not within_bound(a, b.astype(np.float64), np.full(1, 1e30)).holds


@pytest.mark.parametrize("other", [3.4028235e38, -inf, 0.0])
def test_infinity_is_no_neighbour_of_a_number(other: float) -> None:
    left, right = np.array([[inf]], np.float32), np.array([[other]], np.float32)
    for a, b in ((left, right), (right, left)):
        assert compare(a, b).whole.max_ulp is None
        assert not within_bound(a, b.astype(np.float64), np.full(1, 1e30)).holds


def test_signs_of_zero_count_unless_the_contract_says_otherwise() -> None:
    plus, minus = np.zeros((2, 3), np.float32), np.full((2, 3), -0.0, np.float32)
    assert compare(plus, minus).whole.max_ulp == 1
    assert not bits_equal(plus, minus).holds
    assert bits_equal(plus, minus, zero_signs_equal=True).holds
    tiny = from_bits(1, 1, 1)
    assert not bits_equal(plus[:1], tiny, zero_signs_equal=True).holds


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0,)])
def test_nothing_compared_is_a_failure(shape: tuple[int, ...]) -> None:
    empty = np.zeros(shape, np.float32)
    verdict = bits_equal(empty, empty)
    assert not verdict.holds
    assert verdict.reason == "nothing was compared"
    assert not exact_rows(empty, empty).holds
    assert compare(empty, empty).whole.bitwise_percent == 0


def test_no_bound_over_nothing_holds() -> None:
    empty = np.zeros((0, 4), np.float32)
    assert not within_bound(empty, empty.astype(np.float64), np.zeros((0, 4))).holds


def test_combining_nothing_fails_and_one_failure_fails_all() -> None:
    good = bits_equal(result(), result())
    bad = bits_equal(result(), -result())
    hollow = Verdict("bits", True, "", 0)
    assert combine([good, good]).holds
    assert combine([good, good]).compared == 2 * 2048
    assert not combine([]).holds
    assert not combine([hollow]).holds
    assert not combine([good, bad]).holds
    assert "1 of 2 fail: query head" in combine([good, bad]).reason


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)),
        (np.zeros((2, 3), np.float64), np.zeros((2, 3), np.float32)),
        (np.zeros((2, 3), np.float16), np.zeros((2, 3), np.float16)),
        (np.float32(1), np.float32(1)),
    ],
)
def test_another_shape_or_dtype_is_an_error(a: F32Array, b: F32Array) -> None:
    with pytest.raises(CompareError):
        compare(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize("bound", [np.nan, inf, -1.0])
def test_a_bound_that_is_no_bound_is_an_error(bound: float) -> None:
    with pytest.raises(CompareError, match="negative, infinite or NaN"):
        within_bound(result(), result().astype(np.float64), np.full(8, bound))


def test_a_bound_of_another_shape_is_an_error() -> None:
    for shape in ((7,), (8, 255), (8, 256, 1), ()):
        with pytest.raises(CompareError):
            within_bound(result(), result().astype(np.float64), np.zeros(shape))
    with pytest.raises(CompareError):
        within_bound(result(), result().astype(np.float64)[:, :8], np.zeros(8))


def test_one_row_out_of_its_bound_fails_and_is_named() -> None:
    reference = result().astype(np.float64)
    limit = np.abs(reference).max(axis=1) * 1e-6
    assert within_bound(result(), reference, limit).holds
    assert within_bound(result(), reference, limit).ratio == 0
    damaged = result()
    damaged[3, 17] += np.float32(1e-3)
    verdict = within_bound(damaged, reference, limit)
    assert not verdict.holds
    assert verdict.ratio is not None
    assert verdict.ratio > 100
    assert verdict.reason.startswith("1 of 2048 words past it: query head 3, index 17")
    assert within_bound(damaged, reference, np.where(np.arange(8) == 3, 1e-2, limit)).holds


def test_a_zero_bound_asks_for_equality() -> None:
    reference = result().astype(np.float64)
    assert within_bound(result(), reference, np.zeros(8)).holds
    off = np.nextafter(result(), np.float32(inf))
    verdict = within_bound(off, reference, np.zeros(8))
    assert not verdict.holds
    assert verdict.to_json()["ratio"] == "inf"


def test_special_values_of_the_oracle_must_be_met() -> None:
    reference = np.array([[np.nan, inf, -inf, 1.0]])
    assert within_bound(np.array([[np.nan, inf, -inf, 1.0]], np.float32), reference, np.zeros(1)).holds
    for index, value in ((0, 1.0), (1, -inf), (1, np.nan), (2, 3.0), (3, np.nan), (3, inf)):
        wrong = reference.astype(np.float32)
        wrong[0, index] = value
        verdict = within_bound(wrong, reference, np.full(1, 1e30))
        assert not verdict.holds
        assert f"index {index}:" in verdict.reason


def test_metrics_of_a_known_pair() -> None:
    b = np.array([[4.0, -2.0, 1.0], [0.0, 0.0, 0.0]], np.float32)
    a = np.array([[4.5, -2.0, 1.0], [0.0, 0.0, 0.5]], np.float32)
    first, second = compare(a, b).rows
    assert (first.max_abs, first.max_rel, first.equal) == (0.5, 0.125, 2)
    assert first.cosine == pytest.approx((18 + 4 + 1) / np.sqrt(21.0 * 25.25))
    assert (second.max_abs, second.max_rel, second.cosine) == (0.5, inf, None)
    assert compare(a, b).worst.head == 1


def test_scratch_of_three_dimensions_has_a_row_a_head() -> None:
    a = np.zeros((4, 3, 5), np.float32)
    b = a.copy()
    b[2, 1, 4] = 1
    worst = compare(a, b).worst
    assert worst.worst is not None
    assert (worst.head, worst.worst.index) == (2, 9)


def test_json_has_no_nan() -> None:
    a, b = np.array([[1.0, np.nan]], np.float32), np.array([[0.0, 1.0]], np.float32)
    for verdict in (bits_equal(a, b), within_bound(a, b.astype(np.float64), np.zeros(1)), combine([])):
        text = json.dumps(verdict.to_json(), allow_nan=False)
        assert json.loads(text)["holds"] is False
    assert "rows" not in bits_equal(a, b).comparison.to_json(rows=False)  # type: ignore[union-attr]


def test_storage_error_is_relative_to_the_row() -> None:
    wide = np.array([[2.0, 1.0], [10.0, 0.0]])
    assert storage_error(np.array([[2.0, 1.5], [10.0, 0.1]]), wide) == pytest.approx([0.25, 0.01])
    with pytest.raises(CompareError):
        storage_error(wide, wide[:1])


@given(WORDS)
def test_neighbours_are_one_apart(bits: int) -> None:
    value = from_bits(bits)
    if not np.all(np.abs(value) < np.float32(3.4e38)):
        return
    above = np.nextafter(value, np.float32(inf))
    # numpy's neighbour of both zeros is the least denormal; ours of -0 is +0.
    expected = 2 if bits == 0x80000000 else 1
    assert ordered(above.view(np.uint32)) - ordered(value.view(np.uint32)) == expected


@given(WORDS, WORDS)
def test_distance_is_symmetric_and_zero_only_for_equal_words(left: int, right: int) -> None:
    a, b = from_bits(left), from_bits(right)
    forth, back = compare(a, b).whole, compare(b, a).whole
    assert (forth.max_ulp, forth.equal) == (back.max_ulp, back.equal)
    assert (forth.max_ulp == 0) == (left == right or (np.isnan(a) & np.isnan(b)).all())
    assert bits_equal(a, b).holds == (forth.max_ulp == 0)


def test_a_largest_word_that_moves_is_named_with_rank_and_gap() -> None:
    """Two logits one ULP apart that changed places, and a word that was not near the largest at all."""
    high = np.float32(1)
    low = np.nextafter(high, np.float32(0))
    a = np.array([[0, low, high, 0.5], [0, 3, 2, 1]], dtype=np.float32)
    b = np.array([[0, high, low, 0.5], [4, 2, 3, 1]], dtype=np.float32)
    verdict = bits_equal(a[:1], b[:1])
    assert not verdict.holds
    assert "the largest word is at index 2 instead of 1, where it has rank 2, 1 ULP below" in verdict.reason
    comparison = compare(a, b)
    near, far = (row.top for row in comparison.rows)
    assert near is not None
    assert far is not None
    assert (near.a_index, near.b_index, near.rank, near.gap_ulp) == (2, 1, 2, 1)
    assert (far.a_index, far.b_index, far.rank, far.gap_ulp) == (1, 0, 3, 1 << 23)
    assert comparison.whole.top is None
    assert json.loads(json.dumps(comparison.to_json()))["rows"][0]["top"]["gap_ulp"] == 1


def test_a_largest_word_that_stays_or_a_nan_says_nothing_of_ranks() -> None:
    a = np.array([[1, 2, 3], [1, 2, np.nan]], dtype=np.float32)
    b = np.array([[1, 2.5, 3], [2, 1, np.nan]], dtype=np.float32)
    assert [row.top for row in compare(a, b).rows] == [None, None]
