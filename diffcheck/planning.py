"""What the numerics read of a plan. The plan itself comes from the planner, which every arm shares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from diffcheck.cases import Case

if TYPE_CHECKING:
    from rust_kernel.plan import Plan, TileTable

GENERIC = "generic"
"""The profile of a device that has none of its own."""


class TileLike(Protocol):
    """The part of a tile that decides which rows a warp takes."""

    @property
    def warps(self) -> int:
        """Warps a block."""

    @property
    def rows(self) -> int:
        """Rows a warp step."""


class PlanLike(Protocol):
    """The part of a plan that generators and bounds look at; `rust_kernel.plan.Plan` is one."""

    @property
    def kv_len(self) -> int:
        """Keys in the context."""

    @property
    def chunk(self) -> int:
        """Keys a split, except that the last split may have fewer."""

    @property
    def n_splits(self) -> int:
        """Number of splits."""

    @property
    def tile(self) -> TileLike:
        """The tile of the partial kernel."""


def plan_for(case: Case, profile: str = "h200", tiles: TileTable | None = None) -> Plan:
    """Make the plan of `case` for a device profile by a tile table; None stands for the one that is built in.

    Raises `rust_kernel.plan.PlanError` if there is none.
    """
    # The native module is needed here and not to list cases or to read receipts.
    from rust_kernel.plan import make_plan

    return make_plan(
        kv_len=case.kv_len,
        num_q_heads=case.num_q_heads,
        num_kv_heads=case.num_kv_heads,
        head_dim=case.head_dim,
        storage=case.storage,
        policy=case.policy,
        profile=profile,
        tiles=tiles,
    )


def planner_profiles() -> tuple[tuple[str, str, int], ...]:
    """Return name, architecture (`sm_90`) and multiprocessors of each device that the planner knows."""
    from rust_kernel import plan

    return tuple((str(one.name), f"sm_{one.arch}", int(one.sms)) for one in plan.profiles())


def profile_for(arch: str, sms: int, profiles: Iterable[tuple[str, str, int]]) -> str:
    """Return the name of the profile that a device's calls are planned with; `profiles` as of `planner_profiles`."""
    return next((name for name, *device in profiles if device == [arch, sms]), GENERIC)


def split_ranges(plan: PlanLike) -> list[tuple[int, int]]:
    """The keys `[k0, k1)` of each split, as section 3 of the contract has them."""
    return [(j * plan.chunk, min(plan.kv_len, (j + 1) * plan.chunk)) for j in range(plan.n_splits)]


def steps_per_split(plan: PlanLike) -> int:
    """The most steps that one warp takes in one split."""
    longest = min(plan.chunk, plan.kv_len)
    return -(-longest // (plan.tile.warps * plan.tile.rows))


def edge_keys(plan: PlanLike) -> list[int]:
    """Every key next to an edge: the first and last key of each split, of each block step and of each warp's rows."""
    edges: set[int] = set()
    for first, end in split_ranges(plan):
        edges.update((first, end - 1))
        for base in range(first, end, plan.tile.rows):
            edges.update((base, min(base + plan.tile.rows, end) - 1))
    return sorted(edges)
