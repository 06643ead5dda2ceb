"""Generated inputs are deterministic, guarded, and what they say of their exact results is true."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from diffcheck.cases import Case, all_cases, get_case
from diffcheck.errors import BadInputError
from diffcheck.generators import Inputs, generate, generator_info, generators, widened
from diffcheck.generators.base import mean_of
from diffcheck.generators.walsh import signs
from diffcheck.layouts import layouts
from diffcheck.oracle import oracle
from diffcheck.planning import edge_keys, split_ranges, steps_per_split

DECODES = [case for case in all_cases() if case.stage != "reduce"]
EXACT = [case for case in DECODES if case.expect == "exact" and case.kv_len <= 2000]
QUICK = [case for case in DECODES if "quick" in case.suites]


@dataclass(frozen=True)
class SomeTile:
    warps: int = 8
    rows: int = 8


@dataclass(frozen=True)
class SomePlan:
    """A plan as the contract computes it, from a chunk."""

    kv_len: int
    chunk: int
    tile: SomeTile = SomeTile()

    @property
    def n_splits(self) -> int:
        return -(-self.kv_len // self.chunk)


def plan(case: Case, chunk: int = 64) -> SomePlan:
    return SomePlan(case.kv_len, chunk, SomeTile(rows=8 if case.storage == "f16" else 4))


def inputs_of(case: Case) -> Inputs:
    return generate(case, plan(case))


def bits(inputs: Inputs) -> tuple[bytes, ...]:
    return tuple(buffer.raw.tobytes() for buffer in inputs.buffers)


@pytest.mark.parametrize("name", generators())
def test_the_same_case_has_the_same_words_and_another_seed_has_others(name: str) -> None:
    case = next(case for case in QUICK if case.generator == name)
    assert bits(inputs_of(case)) == bits(inputs_of(case))
    again = inputs_of(replace(case, seed=case.seed + 1))
    assert bits(again) != bits(inputs_of(case))


def test_f16_cases_hold_the_rounded_values_of_f32_cases() -> None:
    narrow, wide = (inputs_of(get_case(f"random-8x2-L37-{storage}")) for storage in ("f16", "f32"))
    assert np.array_equal(narrow.q.view, wide.q.view)
    assert np.array_equal(narrow.k.view, wide.k.view.astype(np.float16))
    assert np.array_equal(narrow.v.view, wide.v.view.astype(np.float16))


@pytest.mark.parametrize("layout", ["kv-head-major", "padded", "packed"])
def test_a_layout_changes_the_place_and_not_the_values(layout: str) -> None:
    case = get_case("random-8x2-L65-f32")
    dense, other = inputs_of(case), inputs_of(replace(case, layout=layout))
    for a, b in ((dense.q, other.q), (dense.k, other.k), (dense.v, other.v)):
        assert np.array_equal(a.view, b.view)
        assert a.view.shape == b.view.shape


def test_random_streams_are_standard_normal_and_do_not_repeat() -> None:
    inputs = inputs_of(get_case("random-16x4-L515-f32-seed1"))
    for array in (inputs.k.view, inputs.v.view):
        assert abs(float(array.mean())) < 0.006
        assert abs(float(array.std()) - 1) < 0.005
    assert not np.any(np.isin(inputs.q.view[0, :16], inputs.k.view[0]))
    correlation = np.corrcoef(inputs.k.view.ravel(), inputs.v.view.ravel())[0, 1]
    assert abs(correlation) < 0.006


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_filling_touches_no_guard_gap_or_tail(case: Case) -> None:
    inputs = inputs_of(case)
    assert inputs.damage() == []
    assert inputs.damage({buffer.name: buffer.raw.copy() for buffer in inputs.buffers}) == []
    assert (inputs.exact is not None) == (case.expect == "exact")


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_results_are_what_f64_softmax_gives(case: Case) -> None:
    inputs = inputs_of(case)
    exact, out = inputs.exact, inputs.q.view
    assert exact is not None
    for _ in range(case.decodes):
        out = oracle(out, inputs.k.view, inputs.v.view).out
    if case.generator == "inf-value":
        # A weight that f32 cuts to 0 is e^-256 in f64, and inf there: the contract's 0 · inf is NaN.
        out[np.isnan(exact)] = np.nan
    assert np.array_equal(np.isnan(exact), np.isnan(out))
    assert np.allclose(out, exact, rtol=2.0**-24, atol=2.0**-149, equal_nan=True)


@pytest.mark.parametrize("chunk", [7, 61, 64, 203])
@pytest.mark.parametrize("rows", [4, 8])
def test_losing_any_edge_key_changes_a_needle_case(chunk: int, rows: int) -> None:
    case = get_case("needles-8x2-L203-f32")
    geometry = SomePlan(case.kv_len, chunk, SomeTile(rows=rows))
    inputs = generate(case, geometry)
    exact = inputs.exact
    assert exact is not None
    for key in edge_keys(geometry):
        kept = np.arange(case.kv_len) != key
        out = oracle(inputs.q.view, inputs.k.view[kept], inputs.v.view[kept]).out
        for kv_head in range(case.num_kv_heads):
            heads = slice(4 * kv_head, 4 * kv_head + 4)
            assert np.abs(out[heads] - exact[heads]).max() > 0.01


def test_edges_are_the_rows_next_to_splits_and_warps() -> None:
    geometry = SomePlan(kv_len=40, chunk=19, tile=SomeTile(warps=2, rows=4))
    assert split_ranges(geometry) == [(0, 19), (19, 38), (38, 40)]
    assert edge_keys(geometry) == [0, 3, 4, 7, 8, 11, 12, 15, 16, 18, 19, 22, 23, 26, 27, 30, 31, 34, 35, 37, 38, 39]
    assert steps_per_split(geometry) == 3
    assert steps_per_split(SomePlan(kv_len=5, chunk=64, tile=SomeTile(2, 4))) == 1


def test_one_hot_counts_each_key_once() -> None:
    case = replace(get_case("one-hot-v-4x2-L33-f16"), kv_len=600)
    exact = inputs_of(case).exact
    assert exact is not None
    counts = np.bincount(np.arange(600) % 256, minlength=256)
    assert np.array_equal(exact[0], (counts / 600).astype(np.float32))
    assert np.array_equal(exact[2], np.roll(counts / 600, 1).astype(np.float32))


def test_denormals_are_there_and_zeros_have_both_signs() -> None:
    for storage, least_normal in (("f32", 2.0**-126), ("f16", 2.0**-14)):
        inputs = inputs_of(get_case(f"denormals-8x2-L203-{storage}"))
        for array in (inputs.k.view, inputs.v.view):
            size = np.abs(array.astype(np.float64))
            assert np.any((size > 0) & (size < least_normal))
        zeros = inputs.v.view[inputs.v.view == 0]
        assert np.signbit(zeros).any()
        assert not np.signbit(zeros).all()
        assert inputs.exact is not None
        # Columns of -0, other ones for the second KV head.
        assert not np.signbit(inputs.exact[:4, 0]).any()
        assert not np.signbit(inputs.exact[4:, 2]).any()


@pytest.mark.parametrize("layout", layouts())
def test_widening_keeps_values_layout_and_expectation(layout: str) -> None:
    case = replace(get_case("random-8x2-L65-f16"), layout=layout)
    narrow = inputs_of(case)
    wide = widened(narrow)
    assert wide.storage == "f32"
    assert wide.k.view.dtype == wide.v.view.dtype == np.float32
    for a, b in ((narrow.q, wide.q), (narrow.k, wide.k), (narrow.v, wide.v)):
        assert np.array_equal(a.view.astype(np.float32), b.view)
    assert wide.damage() == []
    assert widened(wide) is wide


def test_exact_results_are_kept_and_read_only() -> None:
    narrow = inputs_of(get_case("kept-values-8x2-L203-f16"))
    assert narrow.exact is not None
    assert widened(narrow).exact is narrow.exact
    assert not narrow.exact.flags.writeable


def test_a_chain_looks_for_other_keys_where_the_second_query_is_not_the_first_result() -> None:
    inputs = inputs_of(get_case("hops-8x2-L203-f16-chunk61"))
    exact, k, v = inputs.exact, inputs.k.view, inputs.v.view
    assert exact is not None
    first = oracle(inputs.q.view, k, v).out
    neighbours = np.roll(first, 1, axis=0)
    halves = np.concatenate((inputs.q.view[:, :128], first[:, 128:]), axis=1)
    for query in (inputs.q.view, neighbours, halves):
        assert np.all(np.abs(oracle(query, k, v).out - exact).max(axis=1) > 1)


def test_a_chain_without_keys_for_each_head_is_refused() -> None:
    with pytest.raises(ValueError, match="7 keys are too few for two needles of each of 4 heads"):
        inputs_of(replace(get_case("hops-8x2-L203-f16-chunk61"), kv_len=7))


def test_directions_are_orthogonal_for_every_head_dim() -> None:
    for head_dim in (128, 256, 384):
        directions = np.stack([signs(index, head_dim) for index in range(16)])
        assert np.array_equal(directions @ directions.T, head_dim * np.eye(16))
    with pytest.raises(ValueError, match="no direction 127"):
        signs(127, 256)


def test_an_exact_mean_that_f32_could_not_sum_is_refused() -> None:
    assert mean_of(np.array([[1.0], [2.0]]), 2)[0] == 1.5
    with pytest.raises(ValueError, match="24 bits"):
        mean_of(np.full((2, 1), 2.0**23), 2)


def test_scores_that_f16_cannot_tell_apart_are_refused() -> None:
    case = replace(get_case("rising-16x4-L1000-f16"), kv_len=32 * 2016 + 1, num_q_heads=1, num_kv_heads=1)
    with pytest.raises(ValueError, match="64512 keys at most"):
        inputs_of(case)


def test_an_unknown_generator_is_refused() -> None:
    with pytest.raises(BadInputError, match="generator: 'noise'"):
        generator_info("noise")
