"""`python -m diffcheck.opcodes`: the opcode suite where the command line's own packages are not installed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from diffcheck.errors import DiffcheckError
from diffcheck.opcodes.commands import accept_command, list_command, measure_command, run_command, write_command


def main() -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="diffcheck opcodes")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("list", "run", "measure"):
        commands.add_parser(name).add_argument("--only", metavar="GLOB")
    commands.add_parser("write").add_argument("--check", action="store_true")
    commands.choices["measure"].add_argument("--out", metavar="FILE", type=Path)
    commands.choices["measure"].add_argument("--missing", action="store_true")
    commands.add_parser("accept").add_argument("file", metavar="FILE", type=Path)
    given = parser.parse_args()
    try:
        if given.command == "list":
            return list_command(given.only)
        if given.command == "write":
            return write_command(given.check)
        if given.command == "accept":
            return accept_command(given.file)
        if given.command == "run":
            return run_command(given.only)
        return measure_command(given.out, given.only, given.missing)
    except DiffcheckError as error:
        print(f"diffcheck: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
