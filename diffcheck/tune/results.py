"""Results read from files, and held against their samples."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from diffcheck import digest
from diffcheck.errors import BadInputError, first_wrong
from diffcheck.receipts.ab.file import read_content
from diffcheck.tune.choose import Measured, contradictions
from diffcheck.tune.model import TuneResult


def read_result(path: Path) -> Measured:
    """Read a result. Raises `BadInputError` for a file that is none, or whose numbers are not those of its samples."""
    try:
        result = TuneResult.model_validate(read_content(path))
    except ValidationError as error:
        raise first_wrong(f"result {path.name}", error) from error
    wrong = contradictions(result)
    if wrong:
        raise BadInputError(f"result {path.name}", wrong[0], "ratios that follow from the samples")
    return Measured(result, digest.of_file(path))
