"""Whether a result's plans are those that the planner makes; this takes the native module."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.planning import planner_profiles
from diffcheck.tune.model import TunedCase, TunedVariant, TuneResult
from diffcheck.tune.variants import Choice
from rust_kernel.plan import PlanError, make_plan


def contradictions_of_plans(result: TuneResult) -> Iterator[str]:
    """Yield in one line each what is not as the planner has it."""
    yield from _wrong_profile(result)
    for row in result.rows:
        for one in row.variants:
            wrong = _wrong_plan(row.case, one)
            if wrong:
                yield f"{row.case.name}, {one.name}: {wrong}"


def _wrong_profile(result: TuneResult) -> Iterator[str]:
    known = {name: arch for name, arch, _ in planner_profiles()}
    arch = known.get(result.profile)
    if arch != result.profile_arch:
        said = f"of {arch}" if arch else f"none of {', '.join(known)}"
        yield f"profile_arch: {result.profile_arch} contradicts the profile {result.profile}, which is {said}"


def _wrong_plan(case: TunedCase, one: TunedVariant) -> str:
    """Return how a plan is not what the planner makes of the case by the variant's tile and policy."""
    try:
        made = make_plan(
            kv_len=case.kv_len,
            num_q_heads=case.num_q_heads,
            num_kv_heads=case.num_kv_heads,
            head_dim=case.head_dim,
            storage=case.storage,
            profile=one.plan.profile,
            tiles=Choice(one.warps, one.rows, one.policy).table(),
        )
    except (PlanError, OverflowError) as error:
        return f"there is no such plan ({error})"
    stated, expected = (one.plan.chunk, one.plan.n_splits), (made.chunk, made.n_splits)
    if stated != expected:
        return f"chunk and n_splits are stated as {stated}, and the planner gives {expected}"
    return ""
