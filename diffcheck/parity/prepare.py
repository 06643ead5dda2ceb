"""What all executors share of a case: inputs, plan, oracle and the reference arm's result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from diffcheck.arms import HostArm, Problem
from diffcheck.cases import Case
from diffcheck.errors import DiffcheckError
from diffcheck.generators import CaseInputs, Inputs, decode_inputs, generate_for
from diffcheck.judge import attention_oracle, judge_split
from diffcheck.layouts import Outputs, allocate_outputs
from diffcheck.oracle import OracleResult
from diffcheck.plan_check import plan_faults
from diffcheck.planning import plan_for
from diffcheck.receipts.cases import CaseFacts, PlanFacts, ReferenceCase
from diffcheck.receipts.metrics import Check

if TYPE_CHECKING:
    from rust_kernel.plan import Plan, TileTable


@dataclass(frozen=True)
class Prepared:
    """A case ready to be run.

    `oracle` is None where the case knows its result word for word, and where it merges partials; `expected` is the
    reference arm's result, f32 `[num_q_heads, D]`, and `scratch` the outputs whose scratch has what its splits left.
    """

    case: Case
    plan: Plan
    inputs: CaseInputs
    oracle: OracleResult | None
    expected: npt.NDArray[np.float32]
    scratch: Outputs
    expected_by: str
    facts: CaseFacts
    record: ReferenceCase

    @property
    def decode_inputs(self) -> Inputs:
        """q, K and V. Raises `TypeError` for a case that only merges partials."""
        return decode_inputs(self.inputs, self.case.name)

    def problem(self, name: str) -> Problem:
        """Return the problem with fresh output memory; `name` shows in an executor's error messages."""
        return Problem(name, self.inputs, allocate_outputs(self.case, self.plan.n_splits), self.plan)


def prepare(case: Case, profile: str, reference: HostArm, threads: int, tiles: TileTable | None = None) -> Prepared:
    """Generate a case's inputs, make its plan by a tile table (None: the built-in) and compute oracle and reference.

    Raises `DiffcheckError` when the profile has no plan for the case, and for one that breaks the contract.
    """
    from rust_kernel.plan import PlanError

    try:
        plan = plan_for(case, profile, tiles)
    except PlanError as error:
        raise DiffcheckError(f"case {case.name}: {error}") from error
    broken = plan_faults(plan, case, profile, tiles)
    if broken:
        raise DiffcheckError(f"case {case.name}: the planner's plan breaks the contract: {broken[0].text}")
    inputs = generate_for(case, plan)
    oracle = attention_oracle(inputs)
    outputs = allocate_outputs(case, plan.n_splits)
    outcome = reference.compute(Problem(case.name, inputs, outputs, plan), threads)
    facts = facts_of(case, plan)
    check = Check.of("oracle", reference.name, "oracle", judge_split(inputs, plan, outcome.out, oracle))
    record = ReferenceCase(
        case=facts,
        status="holds" if check.holds else "fails",
        checks=(check,),
        host_seconds=outcome.seconds,
    )
    return Prepared(case, plan, inputs, oracle, outcome.out, outputs, reference.name, facts, record)


def facts_of(case: Case, plan: Plan) -> CaseFacts:
    """Return what a receipt says of a case and its plan."""
    return CaseFacts(
        name=case.name,
        stage=case.stage,
        num_q_heads=case.num_q_heads,
        num_kv_heads=case.num_kv_heads,
        head_dim=case.head_dim,
        kv_len=case.kv_len,
        storage=case.storage,
        layout=case.layout,
        generator=case.generator,
        seed=case.seed,
        expect=case.expect,
        bytes_moved=case.bytes_moved(plan.n_splits),
        plan=PlanFacts(
            key=plan.key,
            profile=plan.profile.name,
            policy=plan.policy,
            chunk=plan.chunk,
            n_splits=plan.n_splits,
            tile=plan.tile.name,
        ),
    )
