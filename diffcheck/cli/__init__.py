"""The command line: one module a command."""

from diffcheck.cli.main import main

__all__ = ["main"]
