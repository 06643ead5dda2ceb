"""`diffcheck sanitize`: the PTX machine and NVIDIA's compute-sanitizer on the same kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.arms import select_arms
from diffcheck.cli.options import Arms, Cases, Profile, Target, check_files, choose_cases, choose_profile, choose_target
from diffcheck.cli.sanitize_table import show_sanitize
from diffcheck.errors import MissingRequirementError
from diffcheck.receipts.write import write_json
from diffcheck.sanitize.arms import DEFAULT_ARMS, DEFAULT_CASES
from diffcheck.sanitize.registry import Planted, planted_fault, planted_faults
from diffcheck.sanitize.run import Asked, run_sanitize, what_is_missing


def sanitize_command(
    context: typer.Context,
    *,
    planted: Annotated[bool, typer.Option("--planted", help="The planted faults. Default: these and --arms.")] = False,
    arms: Annotated[bool, typer.Option("--arms", help="The arms, under all four tools.")] = False,
    name: Annotated[
        list[str] | None, typer.Option("--name", metavar="NAME", help="A planted fault; may be repeated. Default: all.")
    ] = None,
    case: Cases = None,
    arm: Arms = None,
    target: Target = None,
    profile: Profile = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes at a time.")] = 4,
    require_gpu: Annotated[
        bool, typer.Option("--require-gpu", help="Exit with 2 where there is no GPU or no compute-sanitizer.")
    ] = False,
    receipt: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Write a receipt, whole or not at all.")
    ] = None,
) -> None:
    """Run planted faults in the PTX machine and under compute-sanitizer, and hold their verdicts against each other.

    Then run the arms under memcheck, racecheck, initcheck and synccheck, which must report nothing. Without a GPU or
    compute-sanitizer only the machine is asked, and one line says what is missing.
    """
    check_files(receipt)
    both = not planted and not arms
    asked = Asked(
        planted=_choose(name or []) if planted or both else (),
        cases=_cases(case) if arms or both else (),
        arms=[chosen.name for chosen in select_arms(arm or DEFAULT_ARMS)],
        target=None if target is None else choose_target(target),
        profile=None if profile is None else choose_profile(profile),
        workers=workers,
    )
    missing = what_is_missing()
    if missing and (require_gpu or not asked.planted):
        raise MissingRequirementError(f"compute-sanitizer cannot run here ({missing})", "run this where it can")
    with terminal.progress(asked.steps(missing), "sanitize") as advance:
        made = run_sanitize(asked, missing, context.obj, advance)
    show_sanitize(made)
    if receipt is not None:
        write_json(receipt, made)
    raise typer.Exit(0 if made.status == "holds" else 1)


def _choose(names: list[str]) -> tuple[Planted, ...]:
    return tuple(planted_fault(name) for name in dict.fromkeys(names)) or planted_faults()


def _cases(patterns: list[str] | None) -> list[str]:
    return [chosen.name for chosen in choose_cases(None, patterns or list(DEFAULT_CASES))]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("sanitize")(sanitize_command)
