"""Files that a user names: read only where they end, and not when they are too large."""

from __future__ import annotations

from pathlib import Path

from diffcheck.errors import BadInputError


def read_regular(field: str, path: Path, most_bytes: int) -> str:
    """Return the text of a regular file in UTF-8.

    Raises `BadInputError` for `field` when it is something else, has more than `most_bytes` bytes or cannot be read,
    and `UnicodeDecodeError` when it is not UTF-8.
    """
    try:
        # A pipe or a device may never end.
        if path.exists() and not path.is_file():
            raise BadInputError(field, str(path), "a regular file")
        if path.stat().st_size > most_bytes:
            raise BadInputError(field, str(path), f"a file of at most {most_bytes} bytes")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInputError(field, str(path), f"a file that can be read ({error.strerror})") from error
