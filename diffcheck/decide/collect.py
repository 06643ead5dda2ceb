"""Finding and reading the receipts of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from diffcheck.decide.reasons import Code
from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.file import EditedReceiptError, ab_receipt_of, read_content
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.canonical import DIGEST_KEY
from diffcheck.receipts.imported.model import SCHEMA as IMPORTED


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
    try:
        content = read_content(path)
        if content.get("schema") == IMPORTED:
            return Found(path.stem, None, None, Code.RECEIPT_IMPORTED, f"{path.name} was imported: it does not count")
        receipt = ab_receipt_of(content, path.name)
    except EditedReceiptError as error:
        return Found(path.stem, None, None, Code.RECEIPT_EDITED, str(error))
    except BadInputError as error:
        return Found(path.stem, None, None, Code.RECEIPT_UNREADABLE, str(error))
    return Found(path.stem, receipt, str(content[DIGEST_KEY]), None, "")
