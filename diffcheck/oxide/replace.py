"""Several files that change together or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from diffcheck.receipts.write import check_writable


def replace_all(files: Mapping[Path, bytes]) -> None:
    """Write every file beside its place, then put all in place in order; what was there comes back if that fails.

    Raises `BadInputError` when one of them cannot be written, before any is.
    """
    for path in files:
        check_writable(path)
    before = {path: path.read_bytes() if path.is_file() else None for path in files}
    written: dict[Path, Path] = {}
    placed: list[Path] = []
    try:
        for path, content in files.items():
            written[path] = _beside(path, content)
        for path, temporary in written.items():
            placed.append(path)
            temporary.replace(path)
    except BaseException:
        for path in placed:
            _restore(path, before[path])
        raise
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _beside(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _restore(path: Path, content: bytes | None) -> None:
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_bytes(content)
