"""Partials made by hand: what they say of their exact results is true, and the oracle of a merge is a merge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from diffcheck.arms import BuilderArm, NaiveArm, OxideArm, Problem, TwinArm, computes
from diffcheck.cases import Case, get_case, select
from diffcheck.executors.machine import MachineExecutor
from diffcheck.generators import generate_partials, merge_generators
from diffcheck.generators.base import Partials
from diffcheck.generators.merges import LOWEST
from diffcheck.judge import judge_split
from diffcheck.layouts import allocate_outputs
from diffcheck.merge_oracle import merge
from diffcheck.parity.prepare import prepare
from diffcheck.planning import plan_for
from rust_kernel import twin

F32 = npt.NDArray[np.floating[Any]]
MERGES = [case for case in select("matrix") if case.stage == "reduce"]


def partials_of(case: Case) -> Partials:
    return generate_partials(case, plan_for(case))


def straight(partials: Partials) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Section 6 of the contract in f64: every split has the weight of its maximum, and both sums start from +0.

    NumPy's own sum of -0 alone is -0, and would turn the sign of a row that is divided by it.
    """
    m, s, acc = (part.astype(np.float64) for part in parts(partials))
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.exp(m - np.fmax.reduce(m, axis=1, keepdims=True, initial=LOWEST))
        total = (weights * s).sum(axis=1, initial=0.0)[:, None]
        return np.asarray((weights[:, :, None] * acc).sum(axis=1, initial=0.0) / total)


@pytest.mark.parametrize("case", MERGES, ids=lambda case: case.name)
def test_what_is_said_of_the_result_is_true(case: Case) -> None:
    partials = partials_of(case)
    assert partials.damage() == []
    want = straight(partials)
    if partials.exact is not None:
        assert np.allclose(partials.exact, want, rtol=2.0**-24, atol=0, equal_nan=True)
    else:
        assert np.allclose(merge(*parts(partials)).out, want, rtol=1e-13)
    assert (partials.exact is not None) == (case.expect == "exact")


def parts(partials: Partials) -> tuple[F32, F32, F32]:
    return partials.part_m.view, partials.part_s.view, partials.part_acc.view


@pytest.mark.parametrize("name", merge_generators())
def test_a_seed_gives_the_same_words_again_and_another_one_others(name: str) -> None:
    case = next(case for case in MERGES if case.generator == name and case.kv_len == 203)

    def words(seed: int) -> list[bytes]:
        return [buffer.raw.tobytes() for buffer in partials_of(replace(case, seed=seed)).buffers]

    assert words(5) == words(5)
    if name not in {"merge-empty", "merge-counted"}:  # which draw nothing
        assert words(5) != words(6)


def test_the_twin_is_within_the_bound_and_a_wrong_base_is_far_outside() -> None:
    case = get_case("merge-steps-8x2-S9")
    partials = partials_of(case)
    m, s, acc = parts(partials)
    plan = plan_for(case)
    assert judge_split(partials, plan, twin.reduce(m, s, acc)).holds
    base_2 = np.exp2((m - m.max(axis=1, keepdims=True)).astype(np.float64))
    mixed = (base_2[:, :, None] * acc).sum(axis=1) / (base_2 * s).sum(axis=1)[:, None]
    verdict = judge_split(partials, plan, mixed.astype(np.float32))
    assert not verdict.holds
    assert verdict.ratio is not None
    assert verdict.ratio > 1000


@pytest.mark.parametrize("wrong", ["one split lost", "first split twice", "f16 rows"])
def test_a_merge_that_loses_something_is_past_the_bound(wrong: str) -> None:
    partials = partials_of(get_case("merge-random-8x2-S203"))
    m, s, acc = (part.copy() for part in parts(partials))
    if wrong == "one split lost":
        s[:, 77] = acc[:, 77] = 0
    elif wrong == "first split twice":
        s[:, 0] *= 2
        acc[:, 0] *= 2
    else:
        acc = acc.astype(np.float16).astype(np.float32)
    assert not judge_split(partials, plan_for(partials.case), merge(m, s, acc).out.astype(np.float32)).holds


def test_no_bound_without_a_live_split_or_with_a_sum_below_zero() -> None:
    partials = partials_of(get_case("merge-empty-8x2-S2"))
    with pytest.raises(ValueError, match="no bound for a head without a live split"):
        merge(*parts(partials))
    one = np.ones((1, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="a sum below 0"):
        merge(one, -one, one[:, :, None])


@pytest.mark.parametrize("arm", [BuilderArm(), OxideArm()], ids=lambda arm: str(arm.name))
def test_the_reduce_kernel_alone_is_launched(arm: BuilderArm | OxideArm) -> None:
    ready = prepare(get_case("merge-kept-8x2-S9"), "h200", TwinArm(), threads=1)
    program = arm.program(ready.problem("alone"), "sm_90")
    assert [step.entry for step in program.steps] == [ready.plan.reduce_entry]
    roles = {region.buffer.name: region.role for region in program.regions()}
    assert roles == {"part_m": "input", "part_s": "input", "part_acc": "input", "out": "output"}
    assert np.array_equal(MachineExecutor(1).run(program).out, ready.expected, equal_nan=True)


def test_an_arm_without_splits_has_nothing_to_merge() -> None:
    case = get_case("merge-kept-8x2-S9")
    assert not computes(NaiveArm(), case)
    plan = plan_for(case)
    problem = Problem("merge", partials_of(case), allocate_outputs(case, plan.n_splits), plan)
    with pytest.raises(TypeError, match="merge: partials to merge, where q, K and V are needed"):
        NaiveArm().program(problem, "sm_90")
