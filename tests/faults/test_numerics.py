"""Faults of the arithmetic, each with its neighbours: other lengths, splits, groups, storages and values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffcheck.arms import Problem
from diffcheck.bounds import split_bound
from diffcheck.cases import Case
from diffcheck.compare import within_bound
from diffcheck.executors import Executor
from diffcheck.generators import Inputs, generate
from diffcheck.layouts import allocate_outputs
from diffcheck.oracle import oracle_for
from diffcheck.planning import plan_for
from rust_kernel.plan import PlanError, make_plan, policies, profiles
from tests.faults.support import (
    ARMS,
    SEEDS,
    STORED,
    Bounds,
    assert_holds,
    assert_same,
    budget,
    decodes,
    heads,
    lengths,
    merges,
    outcome,
    prepared,
)


@budget(20)
@given(case=merges(("merge-empty", "merge-one-live", "merge-kept")))
def test_empty_splits_weigh_nothing(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@budget(20)
@given(case=merges(("merge-steps", "merge-random")))
def test_log_sums_are_merged_in_base_e(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


# A special value takes the place of a kept key, of which there must be two.
@budget(16)
@given(case=decodes(("minus-inf-prefix", "all-minus-inf"), Bounds(least=60)))
def test_splits_without_a_live_key(executor: Executor, case: Case) -> None:
    assert_holds(case, executor)


@pytest.mark.parametrize("profile", [profile.name for profile in profiles()])
@pytest.mark.parametrize("policy", [policy.replace(":N", ":8") for policy in policies()])
def test_a_context_of_no_keys_is_refused(policy: str, profile: str) -> None:
    with pytest.raises(PlanError, match=r"^kv_len is 0; allowed: a whole number from 1 to 4294967295$"):
        make_plan(kv_len=0, num_q_heads=16, num_kv_heads=4, policy=policy, profile=profile)


TAILS = (0.0, np.nan, np.inf, -np.inf, 60_000.0)


@budget(10)
@given(case=decodes(("random",), Bounds(most=200)), tail_rows=st.integers(1, 70), tail=st.sampled_from(TAILS))
def test_rows_past_the_context_never_count(executor: Executor, case: Case, tail_rows: int, tail: float) -> None:
    """K and V are arrays of a capacity here, tail and all, so that a kernel may read the tail without a fault."""
    plan = plan_for(case, executor.default_profile())
    capacity = replace(case, kv_len=case.kv_len + tail_rows)
    whole = generate(capacity, plan)

    def with_tail(value: float) -> Problem:
        for array in (whole.k, whole.v):
            array.view[case.kv_len :] = value
        return Problem("tail", whole, allocate_outputs(case, plan.n_splits), plan)

    for arm in ARMS:
        masked = outcome(arm, with_tail(0.0), executor).out
        assert np.isfinite(masked).all()
        assert_same(outcome(arm, with_tail(tail), executor).out, masked, f"{arm.name} with a tail of {tail}")


@budget(12)
@given(heads=heads(), kv_len=lengths(2000, least=120), splits=st.integers(1, 9), seed=SEEDS)
def test_sums_past_the_largest_f16(
    executor: Executor, heads: tuple[int, int], kv_len: int, splits: int, seed: int
) -> None:
    assert_holds(
        Case(
            name="drawn",
            num_q_heads=heads[0],
            num_kv_heads=heads[1],
            kv_len=kv_len,
            storage="f16",
            generator="v-512",
            expect="exact",
            policy=f"fixed:{splits}",
            seed=seed,
        ),
        executor,
    )


@budget(8)
@given(case=decodes(("random", "v-one-random", "large-logits"), Bounds(most=1500)), splits=st.integers(1, 24))
def test_any_two_plans_differ_by_their_bounds_at_most(executor: Executor, case: Case, splits: int) -> None:
    """Partials that lose digits are worse the more of them there are."""
    inputs = None
    results, bounds = [], []
    for policy in ("fixed:1", f"chunk:{-(-case.kv_len // splits)}"):
        ready = assert_holds(replace(case, policy=policy), executor)
        assert isinstance(ready.inputs, Inputs)
        oracle = ready.oracle or oracle_for(ready.inputs)
        inputs = inputs or ready.inputs
        assert np.array_equal(inputs.k.view, ready.inputs.k.view), "the plan changed the inputs"
        results.append(outcome(ARMS[1], ready.problem("plan"), executor).out)
        bounds.append(split_bound(case, ready.plan, oracle).absolute)
    verdict = within_bound(results[0], results[1].astype(np.float64), bounds[0] + bounds[1])
    assert verdict.holds, verdict.reason


@budget(8)
@given(
    group=st.integers(1, 8),
    kv_heads=st.integers(2, 4),
    kv_len=lengths(300),
    storage=STORED,
    keys=st.integers(3, 200),
    seed=SEEDS,
)
def test_a_group_of_heads_has_the_same_bits_alone_and_among_others(
    *, executor: Executor, group: int, kv_heads: int, kv_len: int, storage: str, keys: int, seed: int
) -> None:
    """A policy that fixes the chunk gives the group the same plan, whoever else is in the call."""
    among = Case(
        name="drawn",
        num_q_heads=group * kv_heads,
        num_kv_heads=kv_heads,
        kv_len=kv_len,
        storage="f16" if storage == "f16" else "f32",
        generator="random",
        expect="bound",
        policy=f"chunk:{keys}",
        seed=seed,
    )
    ready = prepared(among, executor)
    alone = replace(among, num_q_heads=group, num_kv_heads=1)
    plan = plan_for(alone, executor.default_profile())
    assert (plan.chunk, plan.n_splits, plan.tile) == (ready.plan.chunk, ready.plan.n_splits, ready.plan.tile)
    single = generate(alone, plan)
    assert isinstance(ready.inputs, Inputs)
    for arm in ARMS:
        together = outcome(arm, ready.problem("among"), executor).out
        for kv_head in range(kv_heads):
            mine = slice(kv_head * group, (kv_head + 1) * group)
            single.q.view[...] = ready.inputs.q.view[mine]
            single.k.view[...] = ready.inputs.k.view[:, kv_head : kv_head + 1]
            single.v.view[...] = ready.inputs.v.view[:, kv_head : kv_head + 1]
            problem = Problem("alone", single, allocate_outputs(alone, plan.n_splits), plan)
            assert_same(outcome(arm, problem, executor).out, together[mine], f"{arm.name}, KV head {kv_head}")


@budget(8)
@given(case=decodes(("random", "one-ulp"), Bounds(most=300)))
def test_the_same_call_again_has_the_same_plan_and_bits(executor: Executor, case: Case) -> None:
    first, again = prepared(case, executor), prepared(case, executor)
    assert first.plan == again.plan
    for arm in ARMS:
        results = [outcome(arm, ready.problem("again"), executor).out for ready in (first, again)]
        assert_same(results[1], results[0], arm.name)
        assert_same(results[0], first.expected, f"{arm.name} against the twin")
