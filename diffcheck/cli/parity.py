"""`diffcheck parity`: run cases on every arm and compare."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.arms import left_out, reference_arm, select_arms
from diffcheck.assemble.ptxas import find_ptxas
from diffcheck.cli.assemble import choose_jobs, run_assemble
from diffcheck.cli.options import (
    Arms,
    BuildName,
    Cases,
    JsonFile,
    Profile,
    Suites,
    Target,
    TilesFile,
    check_files,
    check_target_and_profile,
    choose_build,
    choose_of_suites,
    choose_profile,
    choose_target,
    load_tiles,
)
from diffcheck.cli.parity_table import show_cases, show_storage_errors
from diffcheck.cli.selftest import run_with_progress
from diffcheck.errors import BadInputError
from diffcheck.executors import Executor, select_executors
from diffcheck.executors.builds import Build
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.executors.machine import MachineExecutor
from diffcheck.parity.judge_case import CaseRun
from diffcheck.parity.suite import Report, Request, Setup, run_suite
from diffcheck.parity.unlike import only_unlike
from diffcheck.receipts.build import build_receipt
from diffcheck.receipts.model import Receipt
from diffcheck.receipts.write import write_json, write_text
from diffcheck.selftest.model import SelfTestNotRun

# What --json has: the findings, without where they came from.
_FINDINGS = {"contract", "status", "reference", "interpreted", "measured", "storage_errors"}


def parity_command(
    *,
    suite: Suites = None,
    case: Cases = None,
    arm: Arms = None,
    executor: Annotated[
        str, typer.Option("--executor", metavar="NAME", help="machine, gpu, or auto: the machine and then a GPU.")
    ] = "auto",
    target: Target = None,
    unlike: Annotated[
        list[str] | None,
        typer.Option("--unlike", metavar="sm_XX", help="Only cases whose programs differ from those of this target."),
    ] = None,
    profile: Profile = None,
    tiles: TilesFile = None,
    build: BuildName = None,
    schedule: Annotated[
        int | None,
        typer.Option("--schedule", metavar="SEED", min=0, help="Draw the machine's order of execution from a number."),
    ] = None,
    json: JsonFile = None,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Write a receipt, whole or not at all.")
    ] = None,
    selftest: Annotated[bool, typer.Option("--selftest", help="Run the self-test too, into the receipt.")] = False,
    assemble: Annotated[bool, typer.Option("--assemble", help="Run ptxas too, into the receipt.")] = False,
) -> None:
    """Run cases on every arm and executor and compare them.

    Each arm is compared with the twin and with every other arm bit for bit, and with the f64 oracle within a derived
    bound; guards, inputs and unwritten outputs are looked at too.
    """
    check_files(json, receipt)
    cases, table = choose_of_suites(suite, case), load_tiles(tiles)
    chosen_build = choose_build("jit" if build is None else build)
    arms, others = select_arms(arm or []), [choose_target(name) for name in unlike or []]
    check_target_and_profile(target, profile)
    selected, notes = select_executors(executor)
    executors = built(selected, chosen_build) if build is not None else selected
    executors = scheduled(executors, schedule) if schedule is not None else executors
    setups = _setups(executors, target, profile)
    for setup in setups if others else []:
        cases = only_unlike(cases, arms, setup.target, others, setup.profile, tiles=table)
    request = Request(cases, arms, reference_arm(), setups, table)
    for note in notes if arm else [*notes, *left_out()]:
        terminal.console().print(f"left out: {note}", markup=False)
    report = _run(request)
    tested = run_with_progress() if selftest else SelfTestNotRun(reason="not asked for (--selftest)")
    assembled = run_assemble(choose_jobs(arm or [], [], [])) if assemble else None
    made = build_receipt(report, sys.argv[1:], tested, assembled)
    _show(made)
    if json is not None:
        write_text(json, made.model_dump_json(indent=1, by_alias=True, include=_FINDINGS) + "\n")
    if receipt is not None:
        write_json(receipt, made)
    raise typer.Exit(0 if made.status == "holds" else 1)


def built(executors: Sequence[Executor], build: Build) -> list[Executor]:
    """Return the executors with the build on a GPU. Raises `BadInputError` where none of them is one."""
    if not any(isinstance(executor, GpuExecutor) for executor in executors):
        raise BadInputError("build", build, "nothing, as no GPU takes part")
    if build != "jit":
        find_ptxas()
    return [GpuExecutor(build) if isinstance(executor, GpuExecutor) else executor for executor in executors]


def scheduled(executors: Sequence[Executor], seed: int) -> list[Executor]:
    """Return the executors with the machine's schedule. Raises `BadInputError` where none of them is the machine."""
    if not any(isinstance(executor, MachineExecutor) for executor in executors):
        raise BadInputError("schedule", str(seed), "nothing, as the machine takes no part")
    return [
        MachineExecutor(schedule=seed) if isinstance(executor, MachineExecutor) else executor for executor in executors
    ]


def _setups(executors: Sequence[Executor], target: str | None, profile: str | None) -> list[Setup]:
    return [
        Setup(
            executor=executor,
            target=choose_target(executor.default_target() if target is None else target),
            profile=choose_profile(executor.default_profile() if profile is None else profile),
        )
        for executor in executors
    ]


def _run(request: Request) -> Report:
    with terminal.progress(len(request.cases) * len(request.setups), "parity") as advance:

        def done(executor: str, run: CaseRun) -> None:
            advance(f"{run.case.name} on {executor}{'' if run.holds else ': FAILS'}")

        return run_suite(request, done)


def _show(receipt: Receipt) -> None:
    out = terminal.console()
    if receipt.interpreted:
        title = f"interpreted: PTX machine {receipt.interpreted.machine_version}, {receipt.interpreted.target}"
        show_cases(title, receipt.interpreted.cases)
    if receipt.measured:
        measured = receipt.measured
        title = f"measured: {measured.device}, {measured.arch}, PTX for {measured.target}, {measured.build}"
        show_cases(title, receipt.measured.cases)
    for case in receipt.reference.cases:
        for check in case.checks:
            if not check.holds:
                out.print(f"{case.case.name}: {check.a} against {check.b}: {check.reason}", style="red", markup=False)
    show_storage_errors(receipt.storage_errors)
    out.print(f"{_counted(receipt)}: ", terminal.status_text(receipt.status == "holds"), sep="")


def _counted(receipt: Receipt) -> str:
    parts: list[str] = []
    if receipt.interpreted:
        parts.append(f"{len(receipt.interpreted.cases)} cases interpreted")
    if receipt.measured:
        parts.append(f"{len(receipt.measured.cases)} cases measured")
    if receipt.assembled:
        parts.append(f"{len(receipt.assembled.kernels)} kernels assembled")
    return ", ".join([*parts, f"self-test {receipt.selftest.status}"])


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("parity")(parity_command)
