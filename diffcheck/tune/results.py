"""Results read from files, and held against their samples and the planner."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from pydantic import ValidationError

from diffcheck import digest
from diffcheck.errors import BadInputError, FaultyFileError, first_wrong
from diffcheck.receipts.ab.file import read_content
from diffcheck.tune.choose import Measured
from diffcheck.tune.model import SCHEMA, TuneResult
from diffcheck.tune.recompute import contradictions_of_samples
from diffcheck.tune.replan import contradictions_of_plans


def read_result(path: Path) -> Measured:
    """Read a result. Raises `BadInputError` for a file that is none, or whose numbers are not those of its samples."""
    content = read_content(path)
    if content.get("schema") != SCHEMA:
        raise BadInputError(f"result {path.name}, schema", content.get("schema"), SCHEMA)
    try:
        result = TuneResult.model_validate(content)
    except ValidationError as error:
        raise first_wrong(f"result {path.name}", error) from error
    wrong = next(chain(contradictions_of_plans(result), contradictions_of_samples(result)), None)
    if wrong:
        raise FaultyFileError(f"result {path.name}", path.name, wrong)
    return Measured(result, digest.of_file(path))
