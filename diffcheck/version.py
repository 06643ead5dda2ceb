"""The version of this tool and of the numeric contract that it compares under."""

from __future__ import annotations

from importlib import metadata

DISTRIBUTION = "splitk-diffcheck"
CONTRACT = "splitk/1"


def tool_version() -> str:
    """Return the installed distribution's version, or `unpackaged` when the sources run without an installation."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unpackaged"
