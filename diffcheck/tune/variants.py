"""What is swept: tiles and policies of each arm, and which of them can run at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from diffcheck.arms import DeviceArm
from diffcheck.assemble.limits import SHARED_BYTES
from diffcheck.assemble.ptxas import AssembleError, assemble
from diffcheck.cases import Case
from diffcheck.errors import BadInputError, MissingRequirementError
from diffcheck.planning import plan_for
from diffcheck.tune.table_text import one_tile
from rust_kernel.plan import Plan, PlanError, TileTable


@dataclass(frozen=True)
class Sweep:
    """The tiles and policies that each arm is tried with."""

    warps: tuple[int, ...]
    rows: tuple[int, ...]
    policies: tuple[str, ...]

    def choices(self) -> Iterator[Choice]:
        """Every combination."""
        return (Choice(*one) for one in product(self.warps, self.rows, self.policies))


@dataclass(frozen=True)
class Choice:
    """A tile and a policy: what a row of the tile table decides."""

    warps: int
    rows: int
    policy: str

    def __str__(self) -> str:
        return f"w{self.warps}r{self.rows} {self.policy}"

    def table(self) -> TileTable:
        """Return the table that gives every call this tile and policy. Raises `PlanError` for what none may have."""
        return one_tile(self.warps, self.rows, self.policy, "a variant of diffcheck tune")


@dataclass(frozen=True)
class Variant:
    """A choice of one arm with the plan that it makes of a case."""

    arm: DeviceArm
    choice: Choice
    plan: Plan

    @property
    def name(self) -> str:
        """Its name in a result."""
        return name_of(self.arm, self.choice)


@dataclass(frozen=True)
class Refused:
    """A choice of one arm that is not timed."""

    arm: DeviceArm
    choice: Choice
    reason: str


def name_of(arm: DeviceArm, choice: Choice) -> str:
    """Return how a result names an arm's choice, such as `builder w8r4 one-wave`."""
    return f"{arm.name} {choice}"


def choice_of_plan(plan: Plan) -> Choice:
    """Return what a plan has chosen."""
    return Choice(plan.tile.warps, plan.tile.rows, plan.policy)


def variants_of(
    case: Case, arms: Sequence[DeviceArm], sweep: Sweep, incumbent: Plan, target: str
) -> tuple[list[Variant], list[Refused]]:
    """Return the variants of a case, each arm's incumbent first, and what cannot be one, with the reason.

    `incumbent` is the plan by the table that is to be tuned; its tile and policy are a variant of every arm. Two
    choices that cut the keys alike and have one tile are one variant: the second is left out.
    """
    found: list[Variant] = []
    refused: list[Refused] = []
    for arm in arms:
        own: dict[tuple[int, int, str], Variant] = {}
        for choice in dict.fromkeys((choice_of_plan(incumbent), *sweep.choices())):
            try:
                plan = plan_for(case, incumbent.profile.name, choice.table())
            except PlanError as error:
                refused.append(Refused(arm, choice, str(error)))
                continue
            cut = (plan.chunk, plan.n_splits, plan.tile.name)
            reason = f"the same plan as {own[cut].name}" if cut in own else why_not(arm, plan, target)
            if reason:
                refused.append(Refused(arm, choice, reason))
            else:
                own[cut] = Variant(arm, choice, plan)
        if any(one.choice == choice_of_plan(incumbent) for one in own.values()):
            found += own.values()
        else:
            # There is nothing to measure the others against.
            reason = f"{arm.name} cannot run what the table has, {choice_of_plan(incumbent)}"
            refused += [Refused(arm, one.choice, reason) for one in own.values()]
    return found, refused


def why_not(arm: DeviceArm, plan: Plan, target: str) -> str:
    """Return why an arm cannot run a plan on a target: no kernel, spills, too much shared memory; empty: it can."""
    try:
        kernel = arm.kernel(plan.partial_entry, target)
    except ValueError as error:
        missing = isinstance(error, BadInputError)
        return f"{arm.name} has no {plan.partial_entry}" if missing else " ".join(str(error).split())
    if kernel.dynamic_shared > SHARED_BYTES[target]:
        return f"{kernel.dynamic_shared} bytes of shared memory a block; {target} has {SHARED_BYTES[target]}"
    try:
        used = assemble(kernel.ptx, kernel.entry, target)
    except AssembleError as error:
        return str(error)
    except MissingRequirementError:
        return ""  # the driver assembles it, or says why not
    if used.stack or used.spill_stores or used.spill_loads:
        return f"spills {used.spill_stores} bytes out and {used.spill_loads} in, with a stack of {used.stack}"
    return ""
