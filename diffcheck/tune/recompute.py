"""Whether a result follows from its samples and from the planner: a number that was edited shows here."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.ab.recompute import differing
from diffcheck.ab.sampler import why_dropped
from diffcheck.planning import planner_profiles
from diffcheck.tune.measure import ratio_of
from diffcheck.tune.model import TunedCase, TunedRow, TunedVariant, TuneResult
from diffcheck.tune.variants import Choice
from rust_kernel.plan import PlanError, make_plan


def contradictions(result: TuneResult) -> Iterator[str]:
    """Yield in one line each what is not as the samples, the device's readings or the planner have it."""
    yield from _wrong_profile(result)
    for row in result.rows:
        for place, round_ in enumerate(row.rounds):
            if (round_.dropped is None) != (why_dropped(round_.readings) is None):
                kept = "kept" if round_.dropped is None else "dropped"
                yield f"{row.case.name}: round {place} is {kept}, and its readings say otherwise"
        for one in row.variants:
            wrong = _wrong_plan(row.case, one) or _wrong_ratio(row, one)
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


def _wrong_ratio(row: TunedRow, one: TunedVariant) -> str:
    return "" if one.ratio is None else differing(one.ratio, ratio_of(row, one, one.ratio.seed))
