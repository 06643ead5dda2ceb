"""`diffcheck receipt`: read receipts."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from diffcheck import terminal
from diffcheck.cli.options import JsonFile, check_files, write_file
from diffcheck.cli.parity_table import show_cases, show_storage_errors
from diffcheck.errors import choose
from diffcheck.receipts.ab.model import ab_schema
from diffcheck.receipts.model import read_receipt, receipt_schema

_app = typer.Typer(help="Read receipts.", no_args_is_help=True, rich_markup_mode=None)


@_app.command("show")
def show_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A receipt that `diffcheck parity --receipt` wrote.")],
    json: JsonFile = None,
) -> None:
    """Check a receipt against its schema and print what it says; the exit code is the receipt's own conclusion."""
    check_files(json)
    receipt = read_receipt(file)
    out = terminal.console()
    tree = receipt.tool.tree
    out.print(
        f"diffcheck {receipt.tool.version}, contract {receipt.contract}, "
        f"commit {tree.commit or 'unknown'}{' (dirty)' if tree.dirty else ''}"
    )
    if receipt.interpreted:
        show_cases(f"interpreted ({receipt.interpreted.target})", receipt.interpreted.cases)
    if receipt.measured:
        show_cases(f"measured ({receipt.measured.device}, {receipt.measured.arch})", receipt.measured.cases)
    show_storage_errors(receipt.storage_errors)
    out.print(f"self-test: {receipt.selftest.status}")
    out.print("receipt: ", terminal.status_text(receipt.status == "holds"), sep="")
    write_file(json, receipt)
    raise typer.Exit(0 if receipt.status == "holds" else 1)


_SCHEMAS = {"diffcheck-receipt/1": receipt_schema, "diffcheck-ab/1": ab_schema}


@_app.command("schema")
def schema_command(
    name: Annotated[str, typer.Argument(metavar="[SCHEMA]", help="Of which kind of receipt.")] = "diffcheck-receipt/1",
) -> None:
    """Print the JSON Schema of receipts."""
    print(json_text.dumps(_SCHEMAS[choose("schema", name, _SCHEMAS)](), indent=2))


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.add_typer(_app, name="receipt")
