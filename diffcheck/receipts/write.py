"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic import BaseModel

from diffcheck.errors import BadInputError


def write_json(path: Path, model: BaseModel) -> None:
    """Write a model as JSON; see `write_text`."""
    write_text(path, model.model_dump_json(indent=1, by_alias=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: a temporary file beside it, then a rename. Folders are made as needed.

    An interruption leaves the old file or none, and no temporary file. Raises `BadInputError` when the file cannot be
    written.
    """
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes the file private; a report is as readable as the user's other files.
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def check_writable(path: Path) -> None:
    """Raise `BadInputError` unless a file could be written at `path`: asked before long work, not after it."""
    if path.is_dir():
        raise BadInputError("file", str(path), "the path of a file, not of a folder")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise BadInputError("file", str(path), f"a path in a folder; {folder} is a file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInputError("file", str(path), "a path in a folder that can be written")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
