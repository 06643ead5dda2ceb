"""`diffcheck review`: the page to review a decision by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import check_files
from diffcheck.decide.run import EVIDENCE
from diffcheck.errors import BadInputError, choose
from diffcheck.receipts.write import write_text

FORMATS = ("html", "md")


def review_command(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT", help="A name, or a TOML file.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The page. Without it: standard output, for md only."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="html or md. Default: by the file's ending, else html."),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="A name, or a TOML file. Default: the experiment's.")
    ] = None,
    evidence: Annotated[Path, typer.Option(metavar="DIR", help="Where <experiment>/<host>.json lie.")] = EVIDENCE,
) -> None:
    """Write one self-contained page to review a decision: verdict, reasons, what is missing, and every measurement.

    Exit code 0 when the page is written, whatever the verdict; 2 for bad input. `decide` has an exit code a verdict.
    """
    check_files(output)
    by_ending = "md" if output is not None and output.suffix == ".md" else "html"
    chosen = choose("format", form, FORMATS) if form is not None else by_ending
    if output is None and chosen == "html":
        raise BadInputError("output", "none", "a file for the page (-o page.html), or --format md")
    if not evidence.is_dir():
        raise BadInputError("evidence", str(evidence), "a folder with receipts, such as the repository's evidence/")
    from diffcheck.review.gather import gather
    from diffcheck.review.page import html, markdown

    review = gather(experiment, policy, evidence)
    text = html(review) if chosen == "html" else markdown(review)
    if output is None:
        print(text, end="")
        return
    write_text(output, text)
    terminal.console().print(f"{review.decision.verdict}: {output.name}", markup=False)


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("review")(review_command)
