"""Finding and reading the receipts of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffcheck.decide.reasons import Code
from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.file import EditedReceiptError, ab_receipt_of, read_content
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.canonical import DIGEST_KEY
from diffcheck.receipts.imported.model import SCHEMA as IMPORTED
from diffcheck.visible import visible


@dataclass(frozen=True)
class Found:
    """One file under `evidence/<experiment>/`: a receipt, or what is wrong with it."""

    name: str
    """The file's name without its ending: it should be the host's id."""
    receipt: AbReceipt | None
    digest: str | None
    problem: Code | None
    message: str


def collect(folder: Path) -> tuple[Found, ...]:
    """Read every `.json` file of a folder, sorted by name; none when there is no folder.

    Raises `BadInputError` when the folder cannot be listed.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json") if folder.exists() else []
    except OSError as error:
        raise BadInputError("evidence", str(folder), f"a folder that can be read ({error.strerror})") from error
    return tuple(read_found(path) for path in paths)


def read_found(path: Path) -> Found:
    """Read one file; never raises for what the file holds."""
    # A file's name need not be a text.
    name = visible(path.stem)
    try:
        content = read_content(path)
    except BadInputError as error:
        return Found(name, None, None, Code.RECEIPT_UNREADABLE, visible(str(error)))
    return read_content_as_found(content, name)


def read_content_as_found(content: dict[str, Any], name: str) -> Found:
    """Check a file's content; `name` is the file's without its ending. Never raises for what it holds."""
    file = f"{name}.json"
    if content.get("schema") == IMPORTED:
        return Found(name, None, None, Code.RECEIPT_IMPORTED, f"{file} was imported: it does not count")
    try:
        receipt = ab_receipt_of(content, file)
    except EditedReceiptError as error:
        return Found(name, None, None, Code.RECEIPT_EDITED, str(error))
    except BadInputError as error:
        return Found(name, None, None, Code.RECEIPT_UNREADABLE, str(error))
    return Found(name, receipt, str(content[DIGEST_KEY]), None, "")
