"""What the PTX machine takes: Python's packages, the native module, somewhere to write."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from diffcheck.doctor.model import Finding
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.receipts.write import check_writable
from diffcheck.subjects.lock import RENEW, read_lock
from diffcheck.subjects.sources import root
from diffcheck.version import DISTRIBUTION

SET_UP = "make setup"
_SETUP = "scripts/setup.py"


def python() -> Finding:
    """The interpreter, and the packages that are always needed."""
    found = f"Python {platform.python_version()} on {platform.machine()}"
    try:
        wanted = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return Finding(name="python", need="machine", state="note", detail=f"{found}; runs from sources, not installed")
    missing = [name for name in map(_always, wanted) if name and not _installed(name)]
    if missing:
        return Finding(
            name="python",
            need="machine",
            state="lacks",
            detail=f"{found} without {', '.join(missing)}",
            remedy=f"python -m pip install {' '.join(missing)}",
        )
    return Finding(name="python", need="machine", state="ok", detail=f"{found}, every package that is always needed")


def native_module() -> Finding:
    """The native module: built, of these sources, and with the planner that the tree's hashes speak of."""
    try:
        from diffcheck.subjects.computed import plans_sha256, tile_table_sha256

        lock = read_lock()
        answers = (tile_table_sha256(), plans_sha256())
    except ImportError as error:
        return _native("lacks", f"not built, or not for this Python: {error}", _build())
    if answers != (lock.tile_table_sha256, lock.plans_sha256):
        return _native("lacks", "plans otherwise than the tree's hashes say", f"{_build()}, then {RENEW}")
    if not (root() / _SETUP).is_file():
        return _native("ok", "built, and plans as the hashes say")
    fresh = subprocess.run(
        [sys.executable, str(root() / _SETUP), "--check"], capture_output=True, text=True, check=False, timeout=120
    )
    if fresh.returncode == 0:
        return _native("ok", "built from these sources")
    said = " ".join(fresh.stdout.split()) or "its sources may have changed since it was built"
    return _native("note", f"built; {said}", SET_UP)


def lock() -> Finding:
    """The tree's own hashes."""
    try:
        moved = read_lock().moved()
    except DiffcheckError as error:
        return Finding(name="hashes", need="verdict", state="lacks", detail=str(error), remedy=RENEW)
    if moved:
        detail = f"lock.json is out of date: {', '.join(moved)}"
        return Finding(name="hashes", need="verdict", state="lacks", detail=detail, remedy=RENEW)
    return Finding(name="hashes", need="verdict", state="ok", detail="lock.json describes this tree")


def tree() -> Finding:
    """Whether a receipt written now would be of a clean commit."""
    from diffcheck.ab.source import source_state

    source = source_state()
    if source.commit is None:
        detail = "neither a repository nor a build stamp: a receipt could not name its commit"
        return Finding(
            name="tree", need="verdict", state="lacks", detail=detail, remedy="run in a clone, or: make wheel"
        )
    if source.dirty:
        count = len(source.dirty_paths or ())
        detail = (
            f"{count} tracked files outside evidence/ and docs/ have changes: {', '.join(source.dirty_paths or ())}"
        )
        return Finding(name="tree", need="verdict", state="lacks", detail=detail[:200], remedy="git commit")
    return Finding(name="tree", need="verdict", state="ok", detail=f"clean, at {source.commit[:12]} ({source.origin})")


def disk() -> Finding:
    """Whether receipts can be written where they belong."""
    try:
        check_writable(Path("evidence") / "doctor.json")
        check_writable(Path("out") / "doctor.json")
    except BadInputError as error:
        remedy = "run in a folder that you may write to, or make room"
        return Finding(name="disk", need="machine", state="lacks", detail=str(error), remedy=remedy)
    return Finding(name="disk", need="machine", state="ok", detail="evidence/ and out/ can be written")


def _native(state: str, detail: str, remedy: str | None = None) -> Finding:
    return Finding.model_validate(
        {"name": "native module", "need": "machine", "state": state, "detail": detail, "remedy": remedy}
    )


def _build() -> str:
    return SET_UP if (root() / _SETUP).is_file() else f"python -m pip install --force-reinstall {DISTRIBUTION}"


def _always(requirement: str) -> str | None:
    """Return the name of a package that no extra asks for."""
    if "extra ==" in requirement:
        return None
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return found[0] if found else None


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
