"""`diffcheck subjects`: the hashes that make a receipt fresh or stale."""

from __future__ import annotations

from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.experiment.load import load_experiment
from diffcheck.subjects.lock import RENEW, read_lock, write_lock
from diffcheck.subjects.tree import newest_target, tree_subjects


def subjects_command(
    *,
    experiment: Annotated[str, typer.Option(metavar="NAME", help="Whose arms.")] = "promote-oxide",
    arch: Annotated[str, typer.Option(metavar="sm_XX", help="The device's architecture.")] = "sm_89",
    update: Annotated[
        bool, typer.Option("--update", help="First renew lock.json from the sources; takes the native module.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Print the hashes of this tree that a receipt must name to be fresh, and whether they are up to date."""
    check_files(json)
    lock = write_lock() if update else read_lock()
    arms = load_experiment(experiment).content.arms
    subjects = tree_subjects((arms.baseline, arms.candidate), newest_target(arch, lock), lock)
    rows = [(f"PTX of {ptx.arm} for {ptx.target}", ptx.sha256) for ptx in subjects.ptx]
    rows += [
        (name.removesuffix("_sha256").replace("_", " "), value)
        for name, value in subjects.model_dump(exclude={"ptx"}).items()
    ]
    out = terminal.console()
    out.print(terminal.table(f"{experiment} on {arch}", ("subject", "sha256"), rows))
    moved = lock.moved()
    out.print("lock: ", terminal.status_text(not moved, "up to date", f"out of date: {', '.join(moved)}"), sep="")
    if moved:
        out.print(f"renew it: {RENEW}")
    write_file(json, subjects)
    raise typer.Exit(1 if moved else 0)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("subjects")(subjects_command)
