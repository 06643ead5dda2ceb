"""`diffcheck receipt`: read, check, compare, import and export receipts, without a GPU and the native module."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.ab.recompute import contradictions
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.cli.receipt_show import show_receipt
from diffcheck.errors import BadInputError, choose
from diffcheck.receipts.ab.file import EditedReceiptError
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.canonical import layout
from diffcheck.receipts.diff import ReceiptDiff, diff_receipts
from diffcheck.receipts.exported.rows import FORMAT, export_rows
from diffcheck.receipts.imported.read import import_receipt
from diffcheck.receipts.kinds import KINDS, PARITY, AnyReceipt, read_any
from diffcheck.receipts.write import write_text
from diffcheck.tune.model import TuneResult
from diffcheck.tune.recompute import contradictions_of_samples

_app = typer.Typer(
    help="Read, check, compare, import and export receipts.", no_args_is_help=True, rich_markup_mode=None
)
_SHOWN_DIFFERENCES = 60

ReceiptFile = Annotated[Path, typer.Argument(metavar="FILE", help="A receipt.")]
OutFile = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write the result.")]


@_app.command("show")
def show_command(file: ReceiptFile, json: JsonFile = None) -> None:
    """Check a receipt against its schema and print what it says; the exit code is the receipt's own conclusion."""
    check_files(json)
    receipt = read_any(file)
    holds = show_receipt(receipt)
    write_file(json, receipt)
    raise typer.Exit(0 if holds else 1)


@_app.command("validate")
def validate_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Receipts of any kind.")],
) -> None:
    """Check that receipts are whole: schema, digest, and that each conclusion follows from its numbers and
    each interval of an A/B or a sweep from its samples.

    Exit code 1 if one is not. What a receipt concludes, and whether it is fresh, is not asked.
    """
    out = terminal.console()
    found = [(file, *_validity(file)) for file in files]
    for file, valid, message in found:
        out.print(f"{file}: {message}", style="" if valid else "red", markup=False, soft_wrap=True)
    raise typer.Exit(0 if all(valid for _, valid, _ in found) else 1)


@_app.command("diff")
def diff_command(
    first: Annotated[Path, typer.Argument(metavar="A", help="A receipt.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another of the same kind.")],
    json: JsonFile = None,
) -> None:
    """Print in which fields two receipts differ, samples left out, and which rows' 95 % intervals overlap.

    Exit code 0: no field differs and all intervals overlap; 1: something differs.
    """
    check_files(json)
    found = diff_receipts(read_any(first), read_any(second))
    _show_diff(found)
    write_file(json, found)
    same = not found.differences and found.overlapping == len(found.rows)
    raise typer.Exit(0 if same else 1)


@_app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that another tool wrote.")],
    out: OutFile = None,
) -> None:
    """Read another tool's receipt: apr-kernel-receipt/v1 (rows or receipts), apr-kernel/v1, apr-3725-splitk-rungs/v1.

    It is shown with what it lacks of an A/B receipt, and never counts for a verdict.
    """
    check_files(out)
    imported = import_receipt(file)
    show_receipt(imported)
    write_file(out, imported)


@_app.command("export")
def export_command(
    file: ReceiptFile,
    *,
    format: Annotated[str, typer.Option("--format", metavar="NAME", help=f"{FORMAT} (with rows).")] = FORMAT,
    heads: Annotated[
        str | None, typer.Option(metavar="H/KV", help="Which geometry, such as 16/4: a file has one.")
    ] = None,
    out: OutFile = None,
) -> None:
    """Write an A/B receipt in another tool's format, on standard output unless a file is named."""
    choose("format", format, (FORMAT,))
    check_files(out)
    receipt = read_any(file)
    if not isinstance(receipt, AbReceipt):
        raise BadInputError("receipt", receipt.schema_name, "an A/B receipt, diffcheck-ab/1")
    text = layout(export_rows(receipt, heads)) + "\n"
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)


@_app.command("schema")
def schema_command(
    name: Annotated[str, typer.Argument(metavar="[SCHEMA]", help="Of which kind: " + ", ".join(KINDS))] = PARITY,
) -> None:
    """Print the JSON Schema of receipts."""
    print(json_text.dumps(KINDS[choose("schema", name, KINDS)].schema(), indent=2))


def _validity(file: Path) -> tuple[bool, str]:
    try:
        receipt = read_any(file)
    except EditedReceiptError as error:
        return False, f"edited: {error}"
    except BadInputError as error:
        return False, f"not valid: {error}"
    wrong, unasked = _contradiction(receipt)
    return (False, f"not valid: {wrong}") if wrong else (True, f"valid {receipt.schema_name}{unasked}")


def _contradiction(receipt: AnyReceipt) -> tuple[str, str]:
    """Return what contradicts a receipt's samples or plans, empty where nothing does, and what could not be asked."""
    if isinstance(receipt, AbReceipt):
        return next((f"{row}: {message}" for row, message in contradictions(receipt)), ""), ""
    if not isinstance(receipt, TuneResult):
        return "", ""
    wrong = next(contradictions_of_samples(receipt), "")
    try:
        from diffcheck.tune.replan import contradictions_of_plans
    except ImportError:
        return wrong, "; whether the planner makes its plans was not asked: the native module is not built"
    return wrong or next(contradictions_of_plans(receipt), ""), ""


def _show_diff(found: ReceiptDiff) -> None:
    out = terminal.console()
    shown = [(one.path, one.a or "-", one.b or "-") for one in found.differences[:_SHOWN_DIFFERENCES]]
    out.print(terminal.table(f"{len(found.differences)} fields differ", ("field", "A", "B"), shown))
    if len(found.differences) > _SHOWN_DIFFERENCES:
        out.print(f"{len(found.differences) - _SHOWN_DIFFERENCES} more; --json FILE has all")
    if found.rows:
        rows = [
            (
                row.row,
                *(f"{one.estimate:.4f} [{one.low:.4f}, {one.high:.4f}]" for one in (row.a, row.b)),
                terminal.status_text(row.overlap, "yes", "NO"),
            )
            for row in found.rows
        ]
        out.print(terminal.table("candidate over baseline", ("row", "A", "B", "overlap"), rows))
        share = 100.0 * found.overlapping / len(found.rows)
        out.print(f"intervals overlap in {found.overlapping} of {len(found.rows)} rows ({share:.1f} %)")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.add_typer(_app, name="receipt")
