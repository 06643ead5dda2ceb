"""`diffcheck doctor`: what this host has and lacks."""

from __future__ import annotations

import typer
from rich.text import Text

from diffcheck import terminal
from diffcheck.cli.options import JsonFile, check_files, write_file

_STYLES = {"ok": "green", "lacks": "bold yellow", "note": "dim"}
_READY = {
    "machine": "diffcheck parity --executor machine",
    "gpu": "diffcheck parity --executor gpu, diffcheck ab",
    "verdict": "a receipt that counts",
}


def doctor_command(*, json: JsonFile = None) -> None:
    """Say what this host has and lacks for each job, each with the command that mends it.

    Exit code 0 when nothing is lacking that `parity --executor machine` needs; 1 when something is. A GPU that is not
    there, and what only some commands need, never make it fail.
    """
    from diffcheck.doctor.run import examine

    check_files(json)
    found = examine()
    out = terminal.console()
    rows = [(one.name, one.need, Text(one.state, style=_STYLES[one.state]), one.detail) for one in found.findings]
    out.print(terminal.table("this host", ("what", "needed for", "", "found"), rows))
    lacking = [one for one in found.findings if one.state == "lacks"]
    if lacking:
        out.print("what mends it:")
        for one in lacking:
            out.print(f"  {one.name}: {one.remedy}", markup=False, soft_wrap=True)
    for need, what in _READY.items():
        out.print(f"{what}: ", terminal.status_text(need in found.ready, "ready", "not ready"), sep="")
    write_file(json, found)
    raise typer.Exit(0 if "machine" in found.ready else 1)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("doctor")(doctor_command)
