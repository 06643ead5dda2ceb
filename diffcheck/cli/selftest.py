"""`diffcheck selftest`: every planted fault must be found."""

from __future__ import annotations

from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.selftest.model import MutantResult, SelfTest
from diffcheck.selftest.registry import select_mutants
from diffcheck.selftest.run import run_mutants

_COLUMNS = ("mutant", "where", "what", "meant for", "caught by", "s", "")
_WIDE_ONLY = ("what", "s")


def selftest_command(
    mutant: Annotated[
        list[str] | None, typer.Option("--mutant", metavar="NAME", help="A mutant; may be repeated. Default: all.")
    ] = None,
    json: JsonFile = None,
) -> None:
    """Plant faults in PTX, twin and comparator, and see each one caught by the check that is meant to.

    Does not hold when one survives. A mutant that can no longer be planted is an error.
    """
    check_files(json)
    tested = run_with_progress(mutant or [])
    out = terminal.console()
    columns = [column for column in _COLUMNS if column not in _WIDE_ONLY or out.width >= terminal.WIDE]
    cells = [_cells(result) for result in tested.mutants]
    rows = [[row[column] for column in columns] for row in cells]
    out.print(terminal.table("self-test", columns, rows, ["s"]))
    for result in tested.mutants:
        if not result.caught:
            out.print(f"{result.name}: {result.evidence}", style="red", markup=False, soft_wrap=True)
    out.print(f"{len(tested.mutants)} mutants: ", terminal.status_text(tested.status == "holds"), sep="")
    write_file(json, tested)
    raise typer.Exit(0 if tested.status == "holds" else 1)


def _cells(result: MutantResult) -> dict[str, object]:
    return {
        "mutant": result.name,
        "where": result.where,
        "what": result.what,
        "meant for": result.meant_for,
        "caught by": ", ".join(result.caught_by) or "nothing",
        "s": f"{result.seconds:.2f}",
        "": terminal.status_text(result.caught, "caught", "SURVIVED"),
    }


def run_with_progress(names: list[str] | None = None) -> SelfTest:
    """Run the named mutants, or all, with a progress bar."""
    mutants = select_mutants(names or [])
    with terminal.progress(len(mutants), "self-test") as advance:
        return run_mutants(mutants, advance)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("selftest")(selftest_command)
