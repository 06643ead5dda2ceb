"""Faults of addresses, each with its neighbours: other strides, edges, splits, groups and head dimensions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffcheck.cases import Case, get_case
from diffcheck.errors import DiffcheckError
from diffcheck.executors import Executor
from diffcheck.layouts import OVERLAPPING_LAYOUTS, layouts
from diffcheck.parity.judge_case import check_memory
from rust_kernel.plan import PlanError, make_plan
from tests.faults.support import (
    ARMS,
    Bounds,
    assert_holds,
    assert_same,
    budget,
    decodes,
    merges,
    prepared,
    program,
)

APART = tuple(layout for layout in layouts() if layout not in OVERLAPPING_LAYOUTS)


@budget(20)
@given(case=decodes(("kept-values", "needles", "denormals"), Bounds(layouts=APART)))
def test_strides_are_obeyed_and_guards_survive(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@budget(8)
@given(case=decodes(("random",), Bounds(most=200, layouts=OVERLAPPING_LAYOUTS)))
def test_strides_of_nothing_are_obeyed(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@budget(16)
@given(case=merges(("merge-counted",), most=1100))
def test_every_split_is_merged_once(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@budget(16)
@given(case=decodes(("one-hot-v",), Bounds(most=900)))
def test_each_key_counts_once(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@budget(12)
@given(case=decodes(("needles",), Bounds(most=2500, most_kv_heads=2)))
def test_needles_at_every_edge_are_found(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@budget(12)
@given(case=decodes(("v-head-index",), Bounds(most=150, most_kv_heads=9)))
def test_each_head_reads_its_own_kv_head(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@budget(8)
@given(case=decodes(("kept-values", "random"), Bounds(most=260, layouts=("packed", "padded"))))
def test_a_second_call_on_the_same_arrays_has_the_same_bits(executor: Executor, case: Case) -> None:
    """The scratch of the first call is what the second finds, and the inputs have to be as they were."""
    ready = prepared(case, executor)
    for arm in ARMS:
        once = program(arm, ready.problem("twice"), executor)
        left = executor.run(replace(once, steps=once.steps * 2))
        memory = check_memory(arm.name, once, left)
        assert memory.holds, memory.reason
        assert_same(left.out, ready.expected, arm.name)


@budget(50)
@given(head_dim=st.one_of(st.sampled_from((64, 72, 96, 128, 136, 512)), st.integers(1, 255), st.integers(257, 4096)))
def test_head_dims_without_kernels_are_refused(head_dim: int) -> None:
    with pytest.raises(PlanError, match=rf"^head_dim is {head_dim}; allowed: 256$"):
        make_plan(kv_len=100, num_q_heads=8, num_kv_heads=2, head_dim=head_dim)


@pytest.mark.parametrize("head_dim", [72, 136])
def test_a_case_of_such_a_head_dim_is_one_line(executor: Executor, head_dim: int) -> None:
    case = replace(get_case("random-8x2-L65-f16"), head_dim=head_dim)
    with pytest.raises(DiffcheckError, match=rf"head_dim is {head_dim}; allowed: 256$") as caught:
        prepared(case, executor)
    assert "\n" not in str(caught.value)


@budget(50)
@given(kv_heads=st.integers(1, 64), group=st.integers(9, 40))
def test_groups_that_are_too_large_are_refused(kv_heads: int, group: int) -> None:
    allowed = rf"num_kv_heads \({kv_heads}\) times a whole number from 1 to 8$"
    with pytest.raises(PlanError, match=rf"^num_q_heads is {kv_heads * group}; allowed: {allowed}"):
        make_plan(kv_len=100, num_q_heads=kv_heads * group, num_kv_heads=kv_heads)
