"""What a sweep needs of the device, and the checks that come before any timing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from diffcheck import digest
from diffcheck.ab.bench import Replayed
from diffcheck.ab.nvml import Monitor
from diffcheck.arms import HostArm, Problem
from diffcheck.executors import Executor
from diffcheck.executors.program import Program
from diffcheck.judge import judge_split
from diffcheck.layouts import allocate_outputs
from diffcheck.parity.judge_case import run_arm
from diffcheck.parity.prepare import Prepared, facts_of
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.receipts.metrics import Check
from diffcheck.tune.variants import Variant


@dataclass(frozen=True)
class CheckedVariant:
    """A variant that ran once: its checks, and what to time."""

    variant: Variant
    checks: tuple[Check, ...]
    program: Program
    ptx_sha256: str

    @property
    def holds(self) -> bool:
        """Whether every check does."""
        return all(check.holds for check in self.checks)


class TuneRow(Protocol):
    """The checked variants of one kind of call, on the device."""

    buffer_sets: int
    calls: int
    """Calls in each graph."""

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        """As of `diffcheck.ab.bench.RowBench`."""
        ...

    def read_floors(self) -> Sequence[tuple[str, str]]:
        """As of `diffcheck.ab.bench.RowBench`."""
        ...

    def close(self) -> None:
        """Free the row's memory."""
        ...


class TuneBench(Protocol):
    """The device."""

    target: str
    profile: str
    monitor: Monitor
    executor: Executor

    def host(self) -> HostFacts:
        """Return what a result says of the host."""
        ...

    def open_row(self, prepared: Prepared, variants: Sequence[CheckedVariant]) -> TuneRow:
        """Place the variants' buffers. Raises `DiffcheckError` when the device has no room or fails."""
        ...


def check_variants(
    prepared: Prepared, variants: Sequence[Variant], executor: Executor, target: str, reference: HostArm
) -> list[CheckedVariant]:
    """Run every variant once and hold it to the twin's bits by its own plan, and to the oracle's bound.

    All have the inputs of `prepared`, which do not depend on the plan, so that they share K and V on the device.
    """
    references: dict[str, Prepared] = {}
    found: list[CheckedVariant] = []
    for variant in variants:
        key = variant.plan.key
        if key not in references:
            references[key] = _planned(prepared, variant, reference)
        own = references[key]
        run = run_arm(own, executor, target, variant.arm)
        program = variant.arm.program(own.problem(variant.name), target)
        checks = (*own.record.checks, *run.checks)
        found.append(CheckedVariant(variant, checks, program, digest.of_text(program.ptx)))
    return found


def _planned(prepared: Prepared, variant: Variant, reference: HostArm) -> Prepared:
    """Return the same case by a variant's plan, with what the reference makes of it."""
    case, plan = prepared.case, variant.plan
    outputs = allocate_outputs(case, plan.n_splits)
    outcome = reference.compute(Problem(case.name, prepared.inputs, outputs, plan))
    verdict = judge_split(prepared.inputs, plan, outcome.out, prepared.oracle)
    check = Check.of("oracle", reference.name, "oracle", verdict)
    record = prepared.record.model_copy(update={"case": facts_of(case, plan), "checks": (check,)})
    return replace(
        prepared, plan=plan, expected=outcome.out, scratch=outputs, facts=facts_of(case, plan), record=record
    )
