"""Reading a file of another tool."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from diffcheck import digest
from diffcheck.errors import first_wrong
from diffcheck.receipts.ab.file import read_content
from diffcheck.receipts.imported.fields import Reader
from diffcheck.receipts.imported.model import Imported
from diffcheck.receipts.imported.shapes import SHAPES, shape_of
from diffcheck.visible import visible


def import_receipt(path: Path) -> Imported:
    """Read a file of one of the known shapes. Raises `BadInputError` that names the first field that is wrong."""
    content = read_content(path)
    shape = shape_of(content)
    try:
        records, hosts, unknown = SHAPES[shape](Reader(content, path.name))
        return Imported.model_validate(
            {
                "source_file": visible(path.name),
                "source_sha256": digest.of_file(path),
                "source_schema": content["schema"],
                "shape": shape,
                "records": records,
                "required_hosts": hosts,
                "not_understood": tuple(dict.fromkeys(unknown)),
                "raw": content,
            }
        )
    except ValidationError as error:
        raise first_wrong(f"receipt {path.name}", error) from error
