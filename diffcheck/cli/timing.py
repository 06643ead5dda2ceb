"""`diffcheck timing`: how long partial and reduce take on a GPU."""

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
    Suite,
    Target,
    TilesFile,
    check_files,
    check_target_and_profile,
    choose_cases,
    choose_profile,
    choose_target,
    load_tiles,
    write_file,
)
from diffcheck.cli.timing_table import show_timing
from diffcheck.errors import MissingRequirementError
from diffcheck.executors.gpu import GpuExecutor
from diffcheck.receipts.provenance import recorded_command, source_tree
from diffcheck.timing.model import TimedCase, Timing
from diffcheck.timing.run import Settings, device_facts, require_dense, require_exact, time_case
from diffcheck.version import tool_version


def timing_command(
    *,
    suite: Suite = None,
    case: Cases = None,
    arm: Arms = None,
    target: Target = None,
    profile: Profile = None,
    tiles: TilesFile = None,
    rounds: Annotated[int, typer.Option(min=3, max=1000, help="Replays of each graph.")] = 20,
    pause: Annotated[
        float, typer.Option(min=0.0, max=10.0, help="Seconds between rounds, against power limits.")
    ] = 0.05,
    json: JsonFile = None,
) -> None:
    """Time arms on a GPU: CUDA graphs of many calls, buffers rotated over a hundred times the L2, variants interleaved.

    Default: the arm builder on the suite rungs. Beside each arm stand its first launch alone, two empty kernels and
    reading the bytes of K and V only. Does not hold when a timed result has not the twin's bits.
    """
    check_files(json)
    cases, arms, table = choose_cases(suite, case, default="rungs"), select_arms(arm or ["builder"]), load_tiles(tiles)
    require_dense(cases)
    require_exact(arms)
    check_target_and_profile(target, profile)
    executor = GpuExecutor()
    availability = executor.available()
    if not availability:
        raise MissingRequirementError(f"timing needs a GPU ({availability.reason})", "run it where there is one")
    settings = Settings(
        target=choose_target(executor.default_target() if target is None else target),
        profile=choose_profile(executor.default_profile() if profile is None else profile),
        rounds=rounds,
        pause_s=pause,
        tiles=table,
    )
    reference = reference_arm()
    timed: list[TimedCase] = []
    with terminal.progress(len(cases), "timing") as advance:
        for chosen in cases:
            timed.append(time_case(chosen, arms, reference, settings))
            advance(chosen.name)
    made = Timing.model_validate(
        {
            **device_facts(executor),
            "tool_version": tool_version(),
            "command": recorded_command(sys.argv[1:]),
            "tree": source_tree(),
            "target": settings.target,
            "status": "holds" if all(check.holds for one in timed for check in one.parity) else "fails",
            "cases": timed,
        }
    )
    show_timing(made)
    write_file(json, made)
    raise typer.Exit(0 if made.status == "holds" else 1)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("timing")(timing_command)
