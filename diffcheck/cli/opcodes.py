"""`diffcheck opcodes`: every PTX form on edge values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Only: TypeAlias = Annotated[
    str | None, typer.Option("--only", metavar="GLOB", help="Forms with such a name, as in 'fma.*'. Default: all.")
]

app = typer.Typer(
    help="Hold the PTX machine, form by form, to what a GPU gave.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
def list_forms(only: Only = None) -> None:
    """List every form and where its expected value comes from: measured, derived, or why there is none."""
    from diffcheck.opcodes.commands import list_command

    raise typer.Exit(list_command(only))


@app.command("write")
def write(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; name the files that are stale.")] = False,
) -> None:
    """Write the PTX of every form from the opcode table, and the values that only a definition gives."""
    from diffcheck.opcodes.commands import write_command

    raise typer.Exit(write_command(check))


@app.command("run")
def run(only: Only = None) -> None:
    """Run every form in the PTX machine; hold it, the checked-in values and the definitions to each other.

    Does not hold when a result differs: one line each, with the form, the operands, what is expected and what came.
    """
    from diffcheck.opcodes.commands import run_command

    raise typer.Exit(run_command(only))


@app.command("measure")
def measure(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Update a file of values, whole or not at all.")
    ] = None,
    only: Only = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="Leave out the forms that FILE has a value for, as after a break.")
    ] = False,
) -> None:
    """Run every form on the GPU and print what differs from the checked-in values and from the machine."""
    from diffcheck.opcodes.commands import measure_command

    raise typer.Exit(measure_command(out, only, missing))


@app.command("accept")
def accept(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `measure --out FILE` wrote.", show_default=False)],
) -> None:
    """Take measured values into the tree, and derive those that no device here gave from their definitions."""
    from diffcheck.opcodes.commands import accept_command

    raise typer.Exit(accept_command(file))


def register(parent: typer.Typer) -> None:
    """Add the commands to the program."""
    parent.add_typer(app, name="opcodes")
