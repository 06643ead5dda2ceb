"""`diffcheck goals`: the speed goals of a device, with what its receipts measured beside each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.cli.tables import rich_table
from diffcheck.decide.run import EVIDENCE
from diffcheck.goals.report import Report, Source
from diffcheck.goals.run import DEFAULT, check_goals
from diffcheck.goals.tables import by_family, by_goal, by_row
from diffcheck.review.markdown import markdown_table


def goals_command(
    receipts: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RECEIPT...]", help="Default: those of the goals' device under --evidence."),
    ] = None,
    *,
    goals: Annotated[str, typer.Option("--goals", metavar="NAME", help="A name, or a TOML file.")] = DEFAULT,
    evidence: Annotated[Path, typer.Option(metavar="DIR", help="Where <experiment>/<host>.json lie.")] = EVIDENCE,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown: by goal, and by length.")] = False,
    json: JsonFile = None,
) -> None:
    """Hold the speed goals of a device against what A/B receipts measured there.

    Exit code 0: each is met in every row; 1: one is missed, was not measured, or rests on a receipt that does not count
    (stale, or its times cannot be trusted); 2: bad input.
    """
    check_files(json)
    report = check_goals(goals, receipts or [], evidence)
    if markdown:
        print(_markdown(report), end="")
    else:
        _show(report)
    write_file(json, report)
    raise typer.Exit(0 if report.status == "met" else 1)


def _markdown(report: Report) -> str:
    made = "\n\n".join(markdown_table(one) for one in (by_goal(report), by_family(report)))
    return f"{made}\n\n{_conclusion(report)}\n"


def _show(report: Report) -> None:
    out = terminal.console()
    out.print(
        rich_table(f"{report.goals}: {report.title}, {report.device}", by_row(report, narrow=out.width < terminal.WIDE))
    )
    out.print(rich_table("by goal", by_goal(report)))
    for source in report.sources:
        for line in _doubts(source):
            out.print(line, style="yellow", soft_wrap=True)
    out.print(_conclusion(report), style="green" if report.status == "met" else "bold red")


def _doubts(source: Source) -> list[str]:
    found: dict[str, list[str]] = {}
    for doubt in source.doubts:
        found.setdefault(doubt.code.value, []).append(f"{doubt.row}: {doubt.message}" if doubt.row else doubt.message)
    named = f"{source.file} of {source.experiment} does not count"
    return [f"{named}: {code}: {'; '.join(messages)}" for code, messages in found.items()]


def _conclusion(report: Report) -> str:
    missed = [title for title in report.titles if not all(line.holds for line in report.of_goal(title))]
    met = sum(line.holds for line in report.lines)
    goals = f"{len(report.titles) - len(missed)} of {len(report.titles)} goals"
    return f"{goals} met, {met} of {len(report.lines)} rows of them"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("goals")(goals_command)
