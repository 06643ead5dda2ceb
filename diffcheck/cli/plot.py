"""`diffcheck plot` and `diffcheck roofline`: pictures and numbers of one A/B receipt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import check_files
from diffcheck.cli.tables import rich_table
from diffcheck.errors import BadInputError, choose
from diffcheck.receipts.ab.file import read_ab_receipt
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.write import write_text

ReceiptFile = Annotated[Path, typer.Argument(metavar="RECEIPT", help="A receipt of `diffcheck ab`.")]


def _times(receipt: AbReceipt, label: str) -> str | None:
    from diffcheck.review.plots.times import latency_plot
    from diffcheck.review.rows import views

    return latency_plot(views(receipt), _arms(receipt), f"Time of a call {label}")


def _bandwidth(receipt: AbReceipt, label: str) -> str | None:
    from diffcheck.review.plots.times import bandwidth_plot
    from diffcheck.review.rows import views

    peak = receipt.host.peak_memory_bytes_per_second
    return bandwidth_plot(views(receipt), _arms(receipt), peak, f"Bandwidth {label}")


def _roofline(receipt: AbReceipt, label: str) -> str | None:
    from diffcheck.review.plots.roofline import roofline_plot

    return roofline_plot(receipt, f"Roofline {label}")


PICTURES: dict[str, Callable[[AbReceipt, str], str | None]] = {
    "times": _times,
    "bandwidth": _bandwidth,
    "roofline": _roofline,
}


def plot_command(
    what: Annotated[str, typer.Argument(metavar="KIND", help="|".join(PICTURES))],
    receipt: ReceiptFile,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The SVG file to write.")],
) -> None:
    """Draw an A/B receipt as an SVG file: µs against keys, GB/s against keys, or the roofline.

    Both arms stand beside floors and peers, in a panel for each geometry and storage. The same receipt gives the same
    file.
    """
    choose("what", what, PICTURES)
    if output.suffix != ".svg":
        raise BadInputError("output", str(output), "a file whose name ends in .svg")
    check_files(output)
    read = read_ab_receipt(receipt)
    from diffcheck.review.plots.standalone import standalone

    picture = PICTURES[what](read, f"on {read.host.device}")
    if picture is None:
        raise BadInputError("receipt", str(receipt), "one with a row that was timed")
    write_text(output, standalone(picture))
    terminal.console().print(f"{what} of {read.experiment.name} on {read.host.device}: {output.name}")


def roofline_command(
    receipt: ReceiptFile,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
) -> None:
    """Print what each row of an A/B receipt moves and computes, and how near each arm comes to the device's peaks."""
    from diffcheck.review.markdown import markdown_table
    from diffcheck.review.tables.roofline import roofline

    read = read_ab_receipt(receipt)
    made = roofline(read)
    if markdown:
        print(markdown_table(made))
        return
    terminal.console().print(rich_table(f"{read.experiment.name} on {read.host.device}", made))


def _arms(receipt: AbReceipt) -> tuple[str, str]:
    arms = receipt.experiment.content.arms
    return arms.baseline, arms.candidate


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("plot")(plot_command)
    app.command("roofline")(roofline_command)
