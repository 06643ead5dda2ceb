"""Plans with a fault. To add one, add it to `mutants`.

Each is a real plan in which something is replaced; `diffcheck.plan_check` must name the rule that it breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import SupportsIndex

from diffcheck.cases import get_case
from diffcheck.plan_check import MOST_SPLITS, NamedTile, ProfileLike, WholePlan, plan_faults
from diffcheck.planning import plan_for
from diffcheck.selftest.base import Finding, Mutant
from diffcheck.selftest.ptx_run import PROFILE

# 29 splits of 7 keys, the last one full; two KV heads with four query heads each.
CASE = "random-8x2-L203-f32-chunk7"
# The policy one-wave decides, and cuts into more keys than its floor of 64.
BY_POLICY = "random-16x4-L4097-f16"

Range = Callable[[int, tuple[int, int]], tuple[int, int]]


@dataclass(frozen=True)
class WrongPlan:
    """A plan with some of its fields replaced; `moved` changes the keys of a split."""

    kv_len: int
    num_kv_heads: int
    group_size: int
    storage: str
    head_dim: int
    policy: str
    profile: ProfileLike
    chunk: int
    n_splits: int
    tile: NamedTile
    table: str
    partial_launch: tuple[tuple[int, int, int], tuple[int, int, int]]
    ranges: Callable[[int], tuple[int, int]]
    moved: Range

    def split_range(self, split: SupportsIndex, /) -> tuple[int, int]:
        """The keys of a split, as the fault has them."""
        at = int(split)
        return self.moved(at, self.ranges(at))


FIELDS = (
    *("kv_len", "num_kv_heads", "group_size", "storage", "head_dim", "policy", "profile", "chunk", "n_splits", "tile"),
    *("table", "partial_launch"),
)


def _unmoved(_split: int, keys: tuple[int, int]) -> tuple[int, int]:
    return keys


@dataclass(frozen=True)
class PlanMutant:
    """A plan of a case with fields replaced by what `replaced` makes of the real one, and the keys of splits moved."""

    case: str
    replaced: Callable[[WholePlan], Mapping[str, object]]
    moved: Range = _unmoved

    def __call__(self) -> Finding:
        """Hold the faulty plan and the real one to the rules."""
        case = get_case(self.case)
        plan = plan_for(case, PROFILE)
        sound = plan_faults(plan, case, PROFILE)
        fields = {name: getattr(plan, name) for name in FIELDS} | dict(self.replaced(plan))

        def ranges(split: int) -> tuple[int, int]:
            return plan.split_range(split) if split < plan.n_splits else (plan.kv_len, plan.kv_len)

        found = plan_faults(WrongPlan(**fields, ranges=ranges, moved=self.moved), case, PROFILE)
        rules = tuple(dict.fromkeys(fault.rule for fault in found))
        unexpected = f"the plan without a fault: {sound[0].text}" if sound else ""
        return Finding(rules, found[0].text if found else "every rule held", unexpected)


def _nothing(_plan: WholePlan) -> Mapping[str, object]:
    return {}


def _grid(plan: WholePlan, splits: int) -> Mapping[str, object]:
    return {"n_splits": splits, "partial_launch": ((plan.num_kv_heads, splits, 1), plan.partial_launch[1])}


def _other_profile(plan: WholePlan) -> Mapping[str, object]:
    from rust_kernel.plan import profiles

    return {"profile": next(profile for profile in profiles() if profile.name != plan.profile.name)}


def _other_tile(plan: WholePlan) -> Mapping[str, object]:
    from rust_kernel.plan import tile_table

    return {"tile": next(row["tile"] for row in tile_table() if row["tile"].name != plan.tile.name)}


def _from(split: int, first: int, end: int) -> Range:
    def move(at: int, keys: tuple[int, int]) -> tuple[int, int]:
        return (keys[0] + first, keys[1] + end) if at == split else keys

    return move


def mutants() -> tuple[Mutant, ...]:
    """Return the mutants of the planner; none where the native module is not built."""
    try:
        import rust_kernel.plan  # noqa: F401
    except ImportError:
        return ()
    return (
        _plan(
            "key-twice", "a split begins with the last key of the one before", "each key once", moved=_from(3, -1, 0)
        ),
        _plan("key-missing", "a split begins one key late", "each key once", moved=_from(3, 1, 0)),
        _plan("last-key-missing", "the last split ends one key early", "each key once", moved=_from(28, 0, -1)),
        _plan("key-too-many", "the last split ends one key late", "chunk of the policy", moved=_from(28, 0, 1)),
        _plan("split-missing", "there is one split less", "each key once", lambda plan: _grid(plan, 28)),
        _plan("empty-split", "there is one split more, with no key", "no empty split", lambda plan: _grid(plan, 30)),
        _plan("no-splits", "there is no split", "number of splits", lambda plan: _grid(plan, 0)),
        _plan(
            "too-many-splits",
            "more splits than a grid has",
            "number of splits",
            lambda plan: _grid(plan, MOST_SPLITS + 1),
        ),
        _plan(
            "grid",
            "the grid has a row less than there are splits",
            "grid",
            lambda plan: {"partial_launch": ((2, 28, 1), plan.partial_launch[1])},
        ),
        _plan(
            "chunk-below-floor",
            "a split may have fewer than 64 keys",
            "chunk of the policy",
            lambda _: {"chunk": 32},
            BY_POLICY,
        ),
        _plan(
            "other-profile",
            "another device's multiprocessors decide",
            "the call that was asked for",
            _other_profile,
            BY_POLICY,
        ),
        _plan(
            "other-policy",
            "another policy decides",
            "the call that was asked for",
            lambda _: {"policy": "note"},
            BY_POLICY,
        ),
        _plan(
            "other-length",
            "the plan is that of another length",
            "the call that was asked for",
            lambda plan: {"kv_len": plan.kv_len - 1},
        ),
        _plan(
            "other-group",
            "the plan is that of another group size",
            "the call that was asked for",
            lambda _: {"group_size": 8},
        ),
        _plan(
            "other-table",
            "the plan follows another tile table than the one that was asked for",
            "the call that was asked for",
            lambda _: {"table": "tuned-000000000000"},
        ),
        _plan("other-tile", "the tile is that of other calls", "tile of the table", _other_tile),
    )


def _plan(
    name: str,
    what: str,
    meant_for: str,
    replaced: Callable[[WholePlan], Mapping[str, object]] = _nothing,
    case: str = CASE,
    *,
    moved: Range = _unmoved,
) -> Mutant:
    return Mutant(f"plan-{name}", "planner", what, meant_for, PlanMutant(case, replaced, moved))
