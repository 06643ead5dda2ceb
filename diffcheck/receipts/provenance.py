"""Which source tree a result came from."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from diffcheck.receipts.fields import Model

# Changes there cannot change a result: receipts and prose.
_NEUTRAL = ("evidence/", "docs/")


class Tree(Model):
    """The git state of the sources; both null when they are not in a git work tree."""

    commit: str | None
    """The commit that was checked out."""
    dirty: bool | None
    """Whether tracked files outside evidence/ and docs/ differ from that commit."""


def source_tree() -> Tree:
    """Return the git state of the tree that this package was imported from."""
    commit, paths = source_changes()
    return Tree(commit=commit, dirty=None if paths is None else bool(paths))


def source_changes() -> tuple[str, tuple[str, ...]] | tuple[None, None]:
    """Return the commit of this package's tree and the tracked files outside evidence/ and docs/ that differ from it.

    Both are None where the package is not in a git work tree.
    """
    package = Path(str(resources.files("diffcheck")))
    root = package.parent
    # An installed copy may lie inside some other repository (a virtual environment in a project's folder): the tree is
    # ours only if it tracks this very package.
    if _git(root, "ls-files", "--error-unmatch", "diffcheck/receipts/provenance.py") is None:
        return None, None
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no", "-z", "--no-renames")
    if commit is None or changes is None:
        return None, None
    paths = [entry[3:] for entry in changes.split("\0") if entry]
    return commit.strip(), tuple(path for path in paths if not path.startswith(_NEUTRAL))


def recorded_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return a command line as evidence tells it: of an absolute path only the file's name, as folders are a host's."""
    return tuple(_without_folder(argument) for argument in arguments)


def _without_folder(argument: str) -> str:
    option, equals, value = argument.rpartition("=")
    return f"{option}{equals}{Path(value).name}" if Path(value).is_absolute() else argument


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
