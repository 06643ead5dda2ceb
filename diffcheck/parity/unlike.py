"""Which cases a second target adds: those whose programs are another text than the first target's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffcheck.arms import DeviceArm, computes
from diffcheck.cases import Case
from diffcheck.errors import BadInputError
from diffcheck.planning import plan_for

if TYPE_CHECKING:
    from rust_kernel.plan import Plan, TileTable


def only_unlike(
    cases: Sequence[Case],
    arms: Sequence[DeviceArm],
    target: str,
    others: Sequence[str],
    profile: str,
    *,
    tiles: TileTable | None = None,
) -> tuple[Case, ...]:
    """Return the cases in which some arm's kernels for `target` differ from those of each of `others`.

    The same text in the PTX machine has the same result, whatever target its first lines name: running it again would
    show nothing. Raises `BadInputError` where no case is left.
    """
    left = tuple(
        case
        for case in cases
        if any(
            not any(_alike(case, plan_for(case, profile, tiles), arm, target, other) for other in others)
            for arm in arms
            if computes(arm, case)
        )
    )
    if not left:
        allowed = f"a target of which some program differs from that of {target}"
        raise BadInputError("unlike", ", ".join(others), allowed)
    return left


def essence(arm: DeviceArm, entry: str, target: str) -> tuple[str, int, int]:
    """Return what a kernel does: its text without comments and lines that name versions, and its launch."""
    kernel = arm.kernel(entry, target)
    lines = [line.partition("//")[0].rstrip() for line in kernel.ptx.splitlines()]
    kept = [line for line in lines if line and not line.startswith((".target ", ".version "))]
    return "\n".join(kept), kernel.threads, kernel.dynamic_shared


def _alike(case: Case, plan: Plan, arm: DeviceArm, target: str, other: str) -> bool:
    used = {plan.reduce_entry} if case.stage == "reduce" else {plan.partial_entry, plan.reduce_entry}
    # An arm with kernels of its own beside the contract's is taken to differ.
    if not used <= set(arm.entries(target)) or not used <= set(arm.entries(other)):
        return False
    return all(essence(arm, entry, target) == essence(arm, entry, other) for entry in used)
