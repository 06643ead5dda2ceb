"""`diffcheck decide`: may the candidate replace the baseline?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from diffcheck import terminal
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.decide.model import VERDICTS, Decision, Verdict
from diffcheck.decide.reasons import Reason, Severity
from diffcheck.decide.run import EVIDENCE, decide_experiment
from diffcheck.errors import BadInputError, choose

EXIT_CODES: dict[Verdict, int] = {"PROMOTE": 0, "HOLD": 10, "REJECT": 11, "INCONCLUSIVE": 12}
_STYLES: dict[Severity, str] = {
    "pass": "green",
    "info": "dim",
    "inconclusive": "yellow",
    "hold": "yellow",
    "reject": "bold red",
}
_VERDICT_STYLES: dict[Verdict, str] = {
    "PROMOTE": "bold green",
    "HOLD": "bold yellow",
    "REJECT": "bold red",
    "INCONCLUSIVE": "bold yellow",
}


def decide_command(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="A name, or a TOML file.")],
    *,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="A name, or a TOML file. Default: the experiment's.")
    ] = None,
    evidence: Annotated[Path, typer.Option(metavar="DIR", help="Where <experiment>/<host>.json lie.")] = EVIDENCE,
    expect: Annotated[
        str | None,
        typer.Option(metavar="VERDICT", help="Exit with 0 on this verdict and with 1 on any other."),
    ] = None,
    json: JsonFile = None,
) -> None:
    """Say whether the candidate may replace the baseline, and why: PROMOTE, HOLD, REJECT or INCONCLUSIVE.

    Exit code: PROMOTE 0, HOLD 10, REJECT 11, INCONCLUSIVE 12; 2 for bad input.
    """
    check_files(json)
    if expect is not None:
        choose("expect", expect, VERDICTS)
    if not evidence.is_dir():
        raise BadInputError("evidence", str(evidence), "a folder with receipts, such as the repository's evidence/")
    decision = decide_experiment(experiment, policy, evidence)
    show_decision(decision)
    write_file(json, decision)
    if expect is not None:
        raise typer.Exit(0 if decision.verdict == expect else 1)
    raise typer.Exit(EXIT_CODES[decision.verdict])


def show_decision(decision: Decision) -> None:
    """Print a decision: verdict first, then its reasons, then the files that were looked at."""
    out = terminal.console()
    out.print(Text(decision.verdict, style=_VERDICT_STYLES[decision.verdict]), f" {decision.question}", sep="")
    out.print(f"policy {decision.policy}, {decision.gated_rows} rows judged")
    out.print(terminal.table("reasons", ("weight", "code", "host", "row", "what"), _reason_rows(decision)))
    remedies = list(dict.fromkeys(reason.remedy for reason in decision.reasons if reason.remedy))
    if remedies:
        out.print("what would supply it:")
        for remedy in remedies:
            out.print(f"  {remedy}", markup=False)
    if decision.receipts:
        rows = [
            (record.file, record.host or "-", record.arch or "-", record.device or "-", record.role, record.rows)
            for record in decision.receipts
        ]
        columns = ("file", "host", "arch", "device", "role", "rows judged")
        out.print(terminal.table("receipts", columns, rows, ("rows judged",)))


def _reason_rows(decision: Decision) -> list[tuple[object, ...]]:
    return [_reason_row(reason) for reason in decision.reasons]


def _reason_row(reason: Reason) -> tuple[object, ...]:
    weight = Text(reason.severity, style=_STYLES[reason.severity])
    return (weight, reason.code.value, reason.host or "-", reason.row or "-", reason.message)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("decide")(decide_command)
