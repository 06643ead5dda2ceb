"""`diffcheck mutants`."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import Arms, JsonFile, check_files, choose_target, write_file
from diffcheck.selftest.generated.model import GeneratedResult, GeneratedRun, Outcome
from diffcheck.selftest.generated.run import Choice, run_generated
from diffcheck.workers import usable_cores

_OUTCOMES: tuple[Outcome, ...] = ("equivalent", "justified", "survived", "contradiction")


def mutants_command(
    *,
    sample: Annotated[int, typer.Option("--sample", metavar="N", help="How many mutants to draw.")] = 500,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Another seed draws other mutants.")] = 0,
    arms: Arms = None,
    operators: Annotated[
        list[str] | None,
        typer.Option("--operator", metavar="NAME", help="Only mutants of this operator; may be repeated."),
    ] = None,
    kernels: Annotated[
        list[str] | None,
        typer.Option("--kernel", metavar="PATTERN", help="Only kernels such as '*_f16_g4_*'; may be repeated."),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", metavar="sm_XX", help="The architecture whose kernels are changed.")
    ] = "sm_90",
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=0, help="Mutants at a time. 0: one a core.")] = 0,
    every: Annotated[bool, typer.Option("--all", help="Print every mutant, not only those that survive.")] = False,
    json: JsonFile = None,
) -> None:
    """Make mutants of both arms' PTX at random, and count how many the checks catch.

    Exit code 1: fewer than 98 % of those that are not equivalent were caught, or there is none but those.
    """
    check_files(json)
    choice = Choice(
        count=sample,
        seed=seed,
        target=choose_target(target),
        arms=tuple(arms or ()),
        operators=tuple(operators or ()),
        kernels=tuple(kernels or ()),
        jobs=jobs or usable_cores(),
    )
    with terminal.progress(sample, "mutants") as advance:
        run = run_generated(choice, advance)
    _print(run, every)
    write_file(json, run)
    raise typer.Exit(0 if run.status == "holds" else 1)


def _print(run: GeneratedRun, every: bool) -> None:
    out = terminal.console()
    columns, rows = _by_operator(run)
    out.print(terminal.table("mutants by operator", columns, rows, columns[1:]))
    if every:
        out.print(terminal.table("mutants", ["mutant", "line", "became", "", "by", "case", "s"], _each(run), ["s"]))
    for mutant in run.mutants:
        if mutant.outcome in ("survived", "contradiction"):
            text = f"{mutant.outcome}: {mutant.id}: {mutant.line} became {mutant.became} ({mutant.evidence})"
            out.print(text, style="red", markup=False, soft_wrap=True)
    counts = Counter(mutant.outcome for mutant in run.mutants)
    same = counts["equivalent"] + counts["justified"]
    out.print(
        f"seed {run.seed}, {run.target}: {len(run.mutants)} planted, {same} equivalent, {counts['killed']} killed, "
        f"{counts['survived']} survived: {_judgement(run, same)}: ",
        terminal.status_text(run.status == "holds"),
        sep="",
    )


def _judgement(run: GeneratedRun, same: int) -> str:
    if same == len(run.mutants):
        return "nothing was left to judge; draw more (--sample)"
    # Cut, not rounded: 97.99 % is not 98.0 %.
    percent = int(run.kill_percent * 100) / 100
    return f"{percent:.2f} % of those that are not equivalent (at least {run.required_percent:g} %)"


def _by_operator(run: GeneratedRun) -> tuple[list[str], list[list[object]]]:
    """Return columns and rows: for each operator how many mutants each check killed, and what became of the others."""
    checks = list(dict.fromkeys(mutant.by for mutant in run.mutants if mutant.outcome == "killed"))
    rows: list[list[object]] = []
    for name in (*run.operators, ""):
        mine = [mutant for mutant in run.mutants if name in ("", mutant.operator)]
        by = Counter(mutant.by for mutant in mine if mutant.outcome == "killed")
        outcomes = Counter(mutant.outcome for mutant in mine)
        counts = [len(mine), *(by[check] for check in checks), *(outcomes[outcome] for outcome in _OUTCOMES)]
        rows.append([name or "all", *(count or "" for count in counts), f"{sum(m.seconds for m in mine):.1f}"])
    return ["operator", "planted", *(f"by {check}" for check in checks), *_OUTCOMES, "s"], rows


def _each(run: GeneratedRun) -> list[list[object]]:
    return [_row(mutant) for mutant in run.mutants]


def _row(mutant: GeneratedResult) -> list[object]:
    outcome = terminal.status_text(mutant.outcome not in ("survived", "contradiction"), mutant.outcome, mutant.outcome)
    seconds = f"{mutant.seconds:.2f}"
    return [mutant.id, mutant.line, mutant.became, outcome, mutant.by, mutant.case, seconds]


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("mutants")(mutants_command)
