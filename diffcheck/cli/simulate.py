"""`diffcheck simulate`: how far the timing statistics and the verdict can be trusted, without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from diffcheck import terminal
from diffcheck.errors import choose

if TYPE_CHECKING:
    from diffcheck.ab.simulate import Rate

_COLUMNS = ("noise", "question", "runs", "rate", "allowed", "")


def simulate_command(
    *,
    experiment: Annotated[str, typer.Option(help="The experiment whose budget and number of rows are used.")] = (
        "promote-oxide"
    ),
    noise: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A noise model; may be repeated. Default: all.")
    ] = None,
    runs: Annotated[int, typer.Option(min=20, max=1_000_000, help="Runs a rate.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")] = 1,
) -> None:
    """Measure how often intervals hold the truth and verdicts are wrong, under simulated noise.

    Does not hold when a rate is outside what is allowed.
    """
    from diffcheck.ab.noise import MODELS
    from diffcheck.ab.simulate import Trial, coverage, promoted_at_limit, rejected_when_slower
    from diffcheck.experiment.load import load_experiment, load_policy, policy_names
    from diffcheck.experiment.rows import experiment_rows

    asked = load_experiment(experiment).content
    rows = len(experiment_rows(asked))
    names = [choose("noise", name, tuple(MODELS)) for name in noise or MODELS]
    policies = [load_policy(name) for name in policy_names()]

    def measure() -> Iterator[Rate]:
        for name in names:
            trial = Trial(name, asked.budget, runs, seed)
            yield coverage(trial, 1.0)
            for policy in policies:
                yield promoted_at_limit(trial, policy, rows)
                yield rejected_when_slower(trial, policy)

    found: list[Rate] = []
    with terminal.progress(len(names) * (1 + 2 * len(policies)), "simulating") as advance:
        for rate in measure():
            found.append(rate)
            advance(rate.noise)
    out = terminal.console()
    out.print(
        terminal.table(f"{experiment}, {rows} rows", _COLUMNS, [_cells(rate) for rate in found], ["runs", "rate"])
    )
    holds = all(rate.holds for rate in found)
    out.print(f"{len(found)} rates: ", terminal.status_text(holds), sep="")
    raise typer.Exit(0 if holds else 1)


def _cells(rate: Rate) -> tuple[object, ...]:
    allowed = f"at least {rate.least:.2%}" if rate.least is not None else f"below {rate.most or 0:.0%}"
    return (rate.noise, rate.question, rate.runs, f"{rate.share:.2%}", allowed, terminal.status_text(rate.holds))


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("simulate")(simulate_command)
