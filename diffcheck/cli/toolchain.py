"""`diffcheck toolchain`: the same bits whoever assembles, at every level of optimisation."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.arms import reference_arm, select_arms
from diffcheck.cli.options import (
    Arms,
    Cases,
    JsonFile,
    Profile,
    Target,
    check_files,
    check_target_and_profile,
    choose_build,
    choose_of_suites,
    choose_profile,
    choose_target,
    write_file,
)
from diffcheck.cli.toolchain_table import show_toolchain
from diffcheck.errors import MissingRequirementError
from diffcheck.executors.builds import BUILDS, assembler
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.receipts.provenance import recorded_command, source_tree
from diffcheck.toolchain.model import Toolchain
from diffcheck.toolchain.run import Request, assemble_ahead, assembly_jobs, run_builds
from diffcheck.version import tool_version

_BUILD_HELP = f"May be repeated; the others are compared with the first. Default: {', '.join(BUILDS)}."


def toolchain_command(
    *,
    suite: Annotated[
        list[str] | None, typer.Option("--suite", metavar="SUITE", help="May be repeated. Default: quick and faults.")
    ] = None,
    case: Cases = None,
    arm: Arms = None,
    build: Annotated[
        list[str] | None,
        typer.Option(
            "--build",
            metavar="NAME",
            help=_BUILD_HELP,
        ),
    ] = None,
    target: Target = None,
    profile: Profile = None,
    json: JsonFile = None,
) -> None:
    """Run cases on a GPU with kernels assembled by the driver and by ptxas at each level, and compare the bits.

    The first build's output has to be the twin's, and every other build's output and scratch those of the first.
    """
    check_files(json)
    builds = [choose_build(name) for name in dict.fromkeys(build or BUILDS)]
    cases = choose_of_suites(suite, case, default=("quick", "faults"))
    arms = select_arms(arm or ["builder", "oxide"])
    check_target_and_profile(target, profile)
    executor = GpuExecutor()
    availability = executor.available()
    if not availability:
        raise MissingRequirementError(f"toolchain needs a GPU ({availability.reason})", "run it where there is one")
    versions = [assembler(name) for name in builds]  # before long work: ptxas may be missing
    request = Request(
        cases,
        arms,
        reference_arm(),
        {name: GpuExecutor(name) for name in builds},
        choose_target(executor.default_target() if target is None else target),
        choose_profile(executor.default_profile() if profile is None else profile),
    )
    jobs = assembly_jobs(request)
    with terminal.progress(len(jobs), "assemble") as advance:
        assemble_ahead(jobs, f"sm_{executor.capability()}", advance)
    with terminal.progress(len(cases), "toolchain") as advance:
        results = run_builds(request, advance)
    found = Toolchain.model_validate(
        {
            **executor.device_facts(),
            "tool_version": tool_version(),
            "command": recorded_command(sys.argv[1:]),
            "tree": source_tree(),
            "ptxas_version": next((version for version in versions if version), None),
            "target": request.target,
            "profile": request.profile,
            "status": "fails" if any(result.failures or not result.words for result in results) else "holds",
            "cases": [one.name for one in cases],
            "results": results,
        }
    )
    show_toolchain(found)
    write_file(json, found)
    raise typer.Exit(0 if found.status == "holds" else 1)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("toolchain")(toolchain_command)
