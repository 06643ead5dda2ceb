"""Faults of launches and plans: many splits, scratch, calls that overlap, and the planner through its bindings."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffcheck.cases import Case
from diffcheck.executors import Executor
from diffcheck.executors.program import Program, Region, Step
from diffcheck.parity.judge_case import check_memory
from diffcheck.planning import split_ranges
from rust_kernel.plan import PlanError, make_plan, max_splits, policies, profiles, scratch_layout
from tests.faults.support import (
    ARMS,
    Bounds,
    assert_holds,
    assert_same,
    budget,
    decodes,
    merges,
    outcome,
    prepared,
    program,
)

MOST_KEYS = 1_048_576


@budget(4)
@given(case=merges(("merge-counted", "merge-kept"), most=600), splits=st.integers(12_200, 20_000))
def test_many_splits_are_merged(executor: Executor, case: Case, splits: int) -> None:
    assert_holds(replace(case, num_q_heads=1, num_kv_heads=1, kv_len=splits), executor)


@budget(12)
@given(case=decodes(("random",), Bounds(most=400)))
def test_scratch_of_the_exact_size_is_filled_and_not_passed(executor: Executor, case: Case) -> None:
    ready = prepared(case, executor)
    for arm in ARMS:
        problem = ready.problem("scratch")
        left = outcome(arm, problem, executor)
        memory = check_memory(arm.name, program(arm, problem, executor), left)
        assert memory.holds, memory.reason
        for part in (problem.outputs.part_m, problem.outputs.part_s, problem.outputs.part_acc):
            # Of finite inputs every partial is finite; poison, and what no one wrote, is NaN.
            assert np.isfinite(part.over(left.memory[part.buffer.name])).all(), f"{arm.name}: {part.buffer.name}"


@dataclass(frozen=True)
class Together(Program):
    """Launches of several programs on one device, in one order."""

    programs: tuple[Program, ...] = ()

    def regions(self) -> tuple[Region, ...]:
        """The memory of all of them."""
        return tuple(region for one in self.programs for region in one.regions())


def together(programs: Sequence[Program], steps: Sequence[Step]) -> Together:
    """Programs of one module, with the buffers of each renamed apart."""
    for number, one in enumerate(programs):
        for region in one.regions():
            region.buffer.name = f"{region.buffer.name}-{number}"
    first = programs[0]
    return Together("together", first.ptx, first.inputs, first.outputs, tuple(steps), tuple(programs))


ORDERS = ((0, 0, 1, 1), (0, 1, 0, 1), (0, 1, 1, 0), (1, 0, 0, 1), (1, 0, 1, 0), (1, 1, 0, 0))
"""Whose launch comes next: each call's partial kernel, then its reduce kernel."""


@budget(8)
@given(
    case=decodes(("random", "kept-values"), Bounds(most=200, most_kv_heads=2)),
    kv_len=st.integers(1, 200),
    rounds=st.lists(st.sampled_from(ORDERS), min_size=1, max_size=3),
)
def test_calls_that_overlap_do_not_meet(
    executor: Executor, case: Case, kv_len: int, rounds: list[tuple[int, ...]]
) -> None:
    """Kernels keep nothing outside the scratch that they are given: calls with scratch of their own may interleave."""
    cases = (case, replace(case, kv_len=kv_len, policy="fixed:2", seed=case.seed + 1))
    ready = [prepared(one, executor) for one in cases]
    for arm in ARMS:
        programs = [program(arm, one.problem("overlap"), executor) for one in ready]
        assert programs[0].ptx == programs[1].ptx
        steps: list[Step] = []
        for order in rounds:
            left = [list(one.steps) for one in programs]
            steps += [left[whose].pop(0) for whose in order]
        after = executor.run(together(programs, steps)).memory
        for one, expected in zip(programs, ready, strict=True):
            out = one.outputs.out
            assert_same(out.over(after[out.buffer.name]), expected.expected, f"{arm.name}, {out.buffer.name}")
        for each in ready:
            for buffer in each.inputs.buffers:
                buffer.name = buffer.name.partition("-")[0]


def test_kernels_of_one_call_are_two_launches(executor: Executor) -> None:
    """What `ORDERS` counts on."""
    case = Case("drawn", 2, 1, 70, "f16", "random", "bound")
    for arm in ARMS:
        assert len(program(arm, prepared(case, executor).problem("count"), executor).steps) == 2


def contract_splits(kv_len: int, num_kv_heads: int, policy: str, profile: str) -> tuple[int, int]:
    """Chunk and splits as section 3 of the contract has them, written down once more."""
    (device,) = (known for known in profiles() if known.name == profile)
    wave = device.sms * device.blocks_per_sm
    name, _, argument = policy.partition(":")
    if name == "chunk":
        chunk = int(argument)
    else:
        targets = {
            "note": lambda: 4 * device.sms // num_kv_heads,
            "one-wave": lambda: wave // num_kv_heads,
            "three-quarter-wave": lambda: wave * 3 // 4 // num_kv_heads,
            "fixed": lambda: int(argument),
        }
        chunk = max(64, -(-kv_len // max(1, targets[name]())))
    return chunk, -(-kv_len // chunk)


@st.composite
def policy_words(draw: st.DrawFn) -> str:
    word = draw(st.sampled_from(policies()))
    return word.replace(":N", f":{draw(st.one_of(st.integers(1, 300), st.integers(1, 2 * MOST_KEYS)))}")


@budget(300)
@given(
    kv_len=st.one_of(st.integers(1, 300), st.integers(1, MOST_KEYS), st.integers(0, 14).map(lambda n: MOST_KEYS >> n)),
    kv_heads=st.integers(1, 40),
    group=st.integers(1, 8),
    policy=policy_words(),
    profile=st.sampled_from([profile.name for profile in profiles()]),
)
def test_the_bindings_plan_as_the_contract_says(
    kv_len: int, kv_heads: int, group: int, policy: str, profile: str
) -> None:
    chunk, splits = contract_splits(kv_len, kv_heads, policy, profile)
    sizes: dict[str, Any] = {"num_q_heads": group * kv_heads, "num_kv_heads": kv_heads}
    if splits > 65_535:
        with pytest.raises(PlanError, match=rf"^n_splits is {splits}; allowed: 1 to 65535"):
            make_plan(kv_len=kv_len, **sizes, policy=policy, profile=profile)
        return
    plan = make_plan(kv_len=kv_len, **sizes, policy=policy, profile=profile)
    assert (plan.chunk, plan.n_splits) == (chunk, splits)
    ranges = split_ranges(plan)
    for split in {0, splits // 2, splits - 1}:
        assert plan.split_range(split) == ranges[split]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == kv_len
    assert all(first < end for first, end in ranges)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ranges))
    most = max_splits(kv_capacity=kv_len, num_kv_heads=kv_heads, policy=policy, profile=profile)
    assert splits <= most
    layout = scratch_layout(kv_capacity=kv_len, **sizes, policy=policy, profile=profile)
    assert layout.part_acc_bytes == 4 * 256 * group * kv_heads * most
