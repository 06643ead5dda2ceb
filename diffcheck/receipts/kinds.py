"""Every kind of receipt, told apart by its schema's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from diffcheck.errors import BadInputError, first_wrong
from diffcheck.profile.model import Profile
from diffcheck.receipts.ab.file import ab_receipt_of, read_content
from diffcheck.receipts.ab.model import SCHEMA as AB
from diffcheck.receipts.ab.model import AbReceipt, ab_schema
from diffcheck.receipts.imported.model import Imported
from diffcheck.receipts.model import Receipt, read_receipt, receipt_schema
from diffcheck.sanitize.model import SanitizeReceipt
from diffcheck.timing.model import Timing
from diffcheck.toolchain.model import Toolchain
from diffcheck.tune.model import TuneResult

PARITY = "diffcheck-receipt/1"
PlainReceipt: TypeAlias = Imported | Profile | SanitizeReceipt | Timing | Toolchain | TuneResult
"""A receipt that is its model and nothing else: no digest stands in its file."""
AnyReceipt: TypeAlias = Receipt | AbReceipt | PlainReceipt


@dataclass(frozen=True)
class Kind:
    """One kind of receipt."""

    schema: Callable[[], dict[str, Any]]
    """Returns the JSON Schema of its files."""
    read: Callable[[Path], AnyReceipt]
    """Reads and checks a file; errors as of `read_any`."""


def _plain(model: type[PlainReceipt]) -> Kind:
    return Kind(partial(model.model_json_schema, mode="serialization", by_alias=True), partial(_read_plain, model))


def _read_plain(model: type[PlainReceipt], path: Path) -> PlainReceipt:
    try:
        return model.model_validate(read_content(path))
    except ValidationError as error:
        raise first_wrong(f"receipt {path.name}", error) from error


_PLAIN: tuple[type[PlainReceipt], ...] = (Imported, Profile, SanitizeReceipt, Timing, Toolchain, TuneResult)
KINDS: dict[str, Kind] = {
    PARITY: Kind(receipt_schema, read_receipt),
    AB: Kind(ab_schema, lambda path: ab_receipt_of(read_content(path), path.name)),
    **{str(model.model_fields["schema_name"].default): _plain(model) for model in _PLAIN},
}


def read_any(path: Path) -> AnyReceipt:
    """Read and check a receipt of any kind.

    Raises `EditedReceiptError` for one whose content does not fit its digest, and `BadInputError` for anything else
    that is no receipt.
    """
    schema = read_content(path).get("schema")
    kind = KINDS.get(schema) if isinstance(schema, str) else None
    if kind is None:
        raise BadInputError(f"receipt {path.name}, schema", schema, ", ".join(KINDS))
    return kind.read(path)
