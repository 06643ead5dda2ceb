"""Every kind of receipt, told apart by its schema's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from diffcheck.errors import BadInputError
from diffcheck.receipts.ab.file import ab_receipt_of, read_content
from diffcheck.receipts.ab.model import SCHEMA as AB
from diffcheck.receipts.ab.model import AbReceipt, ab_schema
from diffcheck.receipts.imported.model import SCHEMA as IMPORTED
from diffcheck.receipts.imported.model import Imported
from diffcheck.receipts.imported.read import read_imported
from diffcheck.receipts.model import Receipt, read_receipt, receipt_schema

PARITY = "diffcheck-receipt/1"
AnyReceipt: TypeAlias = Receipt | AbReceipt | Imported


def imported_schema() -> dict[str, Any]:
    """Return the JSON Schema of an import."""
    return Imported.model_json_schema(mode="serialization", by_alias=True)


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {PARITY: receipt_schema, AB: ab_schema, IMPORTED: imported_schema}

_READERS: dict[str, Callable[[Path], AnyReceipt]] = {
    PARITY: read_receipt,
    AB: lambda path: ab_receipt_of(read_content(path), path.name),
    IMPORTED: read_imported,
}


def read_any(path: Path) -> AnyReceipt:
    """Read and check a receipt of any kind.

    Raises `EditedReceiptError` for one whose content does not fit its digest, and `BadInputError` for anything else
    that is no receipt.
    """
    schema = read_content(path).get("schema")
    reader = _READERS.get(schema) if isinstance(schema, str) else None
    if reader is None:
        raise BadInputError(f"receipt {path.name}, schema", schema, ", ".join(_READERS))
    return reader(path)
