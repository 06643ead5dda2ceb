"""Files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from diffcheck.errors import BadInputError

if TYPE_CHECKING:
    from pydantic import BaseModel


def write_json(path: Path, model: BaseModel) -> None:
    """Write a model as JSON; see `write_text`."""
    write_text(path, model.model_dump_json(indent=1, by_alias=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: a temporary file beside it, then a rename. Folders are made as needed.

    An interruption leaves the old file or none, and no temporary file. A symbolic link stays, and what it points to is
    replaced. Raises `BadInputError` when the file cannot be written.
    """
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file of bytes; see `write_text`."""
    check_writable(path)
    try:
        _replace(path.resolve(), content)
    except OSError as error:
        raise BadInputError("file", str(path), f"a file that can be written ({error.strerror})") from error


def check_writable(path: Path) -> None:
    """Raise `BadInputError` unless a file could be written at `path`: asked before long work, not after it."""
    if str(path) == "-":
        raise BadInputError("file", "-", "the path of a file: nothing is written to standard output but tables")
    try:
        target = path.resolve()
        if target.is_dir():
            raise BadInputError("file", str(path), "the path of a file, not of a folder")
        # A rename would put a file in the place of a device such as /dev/null.
        if target.exists() and not target.is_file():
            raise BadInputError("file", str(path), "a new file or a regular one, not a device, pipe or socket")
        folder = next(parent for parent in target.parents if parent.exists())
        if not folder.is_dir():
            raise BadInputError("file", str(path), f"a path in a folder; {folder} is a file")
        # The one sure way to know: permissions do not tell of read-only and special file systems, nor bind root.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise BadInputError("file", str(path), f"a path in a folder that can be written ({error.strerror})") from error
    except (ValueError, RuntimeError) as error:  # a NUL in the name; a loop of links, before Python 3.13
        if isinstance(error, BadInputError):
            raise
        raise BadInputError("file", str(path), f"the path of a file ({error})") from error


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name is cut, so that whatever fits a file system fits it with the suffix too.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:32]}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes the file private; a report is as readable as the user's other files.
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
