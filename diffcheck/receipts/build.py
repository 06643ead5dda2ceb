"""From a run's report to a receipt."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import TYPE_CHECKING

from diffcheck.arms import get_arm
from diffcheck.assemble.model import Assembled
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.parity.judge_case import CaseRun
from diffcheck.parity.suite import Report, Setup
from diffcheck.receipts.cases import InterpretedArm, InterpretedCase, MeasuredArm, MeasuredCase
from diffcheck.receipts.model import ArmFacts, Interpreted, Measured, Receipt, Reference, Tool
from diffcheck.receipts.provenance import recorded_command, source_tree
from diffcheck.selftest.model import SelfTest, SelfTestNotRun
from diffcheck.subjects.computed import tile_table_sha256
from diffcheck.subjects.sources import cases_sha256
from diffcheck.version import CONTRACT, tool_version

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable


def build_receipt(
    report: Report,
    command: Sequence[str],
    selftest: SelfTest | SelfTestNotRun,
    assembled: Assembled | None = None,
) -> Receipt:
    """Return the receipt of a report. `command` is the command line without the program."""
    setups = {setup.executor.tier: setup for setup in report.request.setups}
    holds = report.holds and "fails" not in (selftest.status, assembled.status if assembled else "holds")
    request = report.request
    return Receipt.model_validate(
        {
            "tool": _tool(command, request.tiles),
            "contract": CONTRACT,
            "arms": [_arm(name) for name in (request.reference.name, *_took_part(report))],
            "status": "holds" if holds else "fails",
            "reference": Reference(arm=request.reference.name, host=platform.machine(), cases=tuple(report.reference)),
            "interpreted": _interpreted(setups.get("interpreted"), report),
            "measured": _measured(setups.get("measured"), report),
            "assembled": assembled,
            "storage_errors": report.storage_errors,
            "selftest": selftest,
        }
    )


def _took_part(report: Report) -> list[str]:
    ran = {arm.name for runs in report.runs.values() for run in runs for arm in run.arms}
    return [arm.name for arm in report.request.arms if arm.name in ran]


def _tool(command: Sequence[str], tiles: TileTable | None) -> Tool:
    return Tool(
        version=tool_version(),
        tree=source_tree(),
        command=recorded_command(command),
        cases_sha256=cases_sha256(),
        tile_table_sha256=tile_table_sha256(tiles),
    )


def _arm(name: str) -> ArmFacts:
    arm = get_arm(name)
    return ArmFacts(name=arm.name, role=arm.role, title=arm.title, sources=dict(arm.sources()))


def _status(run: CaseRun) -> str:
    return "holds" if run.holds else "fails"


def _interpreted(setup: Setup | None, report: Report) -> Interpreted | None:
    if setup is None:
        return None
    from rust_kernel import ptx

    cases = tuple(
        InterpretedCase.model_validate(
            {
                "case": run.facts,
                "status": _status(run),
                "checks": run.checks,
                "arms": [
                    InterpretedArm(
                        name=arm.name,
                        ptx_sha256=arm.ptx_sha256,
                        interpreter_seconds=arm.seconds,
                        warp_instructions=arm.instructions,
                    )
                    for arm in run.arms
                ],
            }
        )
        for run in report.runs[setup.executor.name]
    )
    return Interpreted(machine_version=ptx.machine_version(), host=platform.machine(), target=setup.target, cases=cases)


def _measured(setup: Setup | None, report: Report) -> Measured | None:
    if setup is None or not isinstance(setup.executor, GpuExecutor):
        return None
    cases = [
        MeasuredCase.model_validate(
            {
                "case": run.facts,
                "status": _status(run),
                "checks": run.checks,
                "arms": [
                    MeasuredArm(name=arm.name, ptx_sha256=arm.ptx_sha256, launch_seconds=arm.seconds)
                    for arm in run.arms
                ],
            }
        )
        for run in report.runs[setup.executor.name]
    ]
    facts = {**setup.executor.device_facts(), **setup.executor.build_facts()}
    return Measured.model_validate({**facts, "target": setup.target, "cases": cases})
