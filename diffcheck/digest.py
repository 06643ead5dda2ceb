"""SHA-256 digests of texts and of packages' source files."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path


def of_text(text: str) -> str:
    """Return the hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def of_file(path: Path) -> str:
    """Return the hex SHA-256 of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def of_package(package: str, *parts: str, without: tuple[str, ...] = ()) -> str:
    """Return one digest of the `.py` and `.toml` files of an importable package, or of some files and folders in it.

    Each file enters with its path inside the package, so that a renamed file changes the digest. `parts` are paths
    relative to the package, such as `kernels` or `cases.py`; none means all of it. `without` are paths that are
    left out of it, folders with all they hold. Raises `FileNotFoundError` when the package or a part does not exist.
    """
    root = _folder_of(package)
    hasher = hashlib.sha256()
    for part in parts or (".",):
        start = root / part
        if not start.exists():
            raise FileNotFoundError(f"package {package} has no {part}")
        for file in [start] if start.is_file() else _sources(start):
            if any(file == root / path or root / path in file.parents for path in without):
                continue
            content = file.read_bytes()
            hasher.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
            hasher.update(content)
    return hasher.hexdigest()


def _folder_of(package: str) -> Path:
    # Found, not imported: the builder needs the native module, and its digest does not.
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"there is no package {package}")
    return Path(spec.origin).parent


def _sources(folder: Path) -> list[Path]:
    found = [path for path in folder.rglob("*") if path.suffix in {".py", ".toml"} and path.is_file()]
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix())
