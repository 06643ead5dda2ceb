"""Which sources run: by git, or by the stamp in the native module where there is no repository.

`make wheel` puts the stamp there.
"""

from __future__ import annotations

from diffcheck.receipts.ab.host import SourceState
from diffcheck.receipts.provenance import source_changes

SEPARATOR = "\t"
"""Between the commit and the paths of a stamp."""


def source_state() -> SourceState:
    """Return the commit and the changed files of what runs."""
    commit, paths = source_changes()
    if commit is not None and paths is not None:
        return SourceState(origin="repository", commit=commit, dirty=bool(paths), dirty_paths=paths)
    stamp = build_stamp()
    if stamp:
        commit, *changed = stamp.split(SEPARATOR)
        return SourceState(origin="build stamp", commit=commit, dirty=bool(changed), dirty_paths=tuple(changed))
    return SourceState(origin="unknown", commit=None, dirty=None, dirty_paths=None)


def build_stamp() -> str:
    """Return the stamp of the native module; empty where it has none, or is not built."""
    try:
        from rust_kernel import plan
    except ImportError:
        return ""
    return plan.SOURCE_STAMP


def stamp_text() -> str:
    """Return the stamp of the tree that this package lies in; empty outside a repository."""
    commit, paths = source_changes()
    return "" if commit is None or paths is None else SEPARATOR.join((commit, *paths))


if __name__ == "__main__":
    print(stamp_text())
