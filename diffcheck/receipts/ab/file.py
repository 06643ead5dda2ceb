"""A/B receipts as files: written whole with their digest, and refused when their content does not fit it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from diffcheck.errors import BadInputError, first_wrong
from diffcheck.receipts.ab.model import SCHEMA, AbReceipt
from diffcheck.receipts.canonical import DIGEST_KEY, content_digest, layout, parse
from diffcheck.receipts.write import write_text
from diffcheck.regular_file import read_regular

MAX_BYTES = 256 * 1024 * 1024


class EditedReceiptError(BadInputError):
    """A receipt whose content does not fit its digest."""


def receipt_text(receipt: AbReceipt) -> str:
    """Return the text of a receipt's file, digest included."""
    content = receipt.model_dump(mode="json", by_alias=True)
    return layout({**content, DIGEST_KEY: content_digest(content)}) + "\n"


def write_ab_receipt(path: Path, receipt: AbReceipt) -> None:
    """Write a receipt, whole or not at all; see `write_text`. Raises `BadInputError` when it cannot be written."""
    write_text(path, receipt_text(receipt))


def read_ab_receipt(path: Path) -> AbReceipt:
    """Read and check a receipt.

    Raises `EditedReceiptError` when the content does not fit its digest, and `BadInputError` that names the first field
    that is wrong for anything else that is no receipt.
    """
    return ab_receipt_of(read_content(path), path.name)


def read_content(path: Path) -> dict[str, Any]:
    """Read a regular file that holds a JSON object. Raises `BadInputError`."""
    try:
        content = parse(read_regular("receipt", path, MAX_BYTES))
    except BadInputError:
        raise
    except (ValueError, RecursionError) as error:
        raise BadInputError("receipt", str(path), f"a JSON file in UTF-8 ({error})") from error
    if not isinstance(content, dict):
        raise BadInputError("receipt", str(path), "a JSON object")
    return content


def ab_receipt_of(content: dict[str, Any], name: str) -> AbReceipt:
    """Return the receipt that a file's content is; `name` is the file's, for messages. Errors: `read_ab_receipt`."""
    if content.get("schema") != SCHEMA:
        raise BadInputError(f"receipt {name}, schema", content.get("schema"), SCHEMA)
    try:
        stated, actual = content.get(DIGEST_KEY), content_digest(content)
    except RecursionError as error:
        raise BadInputError(f"receipt {name}", "a record", "one that is not nested so deeply") from error
    if stated != actual:
        raise EditedReceiptError(f"receipt {name}, digest", stated, f"{actual}, the digest of what the file says")
    try:
        return AbReceipt.model_validate({key: value for key, value in content.items() if key != DIGEST_KEY})
    except ValidationError as error:
        raise first_wrong(f"receipt {name}", error) from error
