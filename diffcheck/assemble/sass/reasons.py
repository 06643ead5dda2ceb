"""Why a hot loop may have more instructions a row than the other arm's. One line for each kernel and target."""

from __future__ import annotations

from fnmatch import fnmatchcase

LIMIT = 1.05

# (entry, target) as patterns, and the reason. Nothing is needed below LIMIT.
REASONS: tuple[tuple[str, str, str], ...] = ()


def reason_for(entry: str, target: str) -> str:
    """Return the stated reason for a ratio above LIMIT, or nothing."""
    for entries, targets, reason in REASONS:
        if fnmatchcase(entry, entries) and fnmatchcase(target, targets):
            return reason
    return ""
