"""`diffcheck`: exit code 0 says that it holds, 1 that it does not, 2 that the input or the machine is not fit."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from diffcheck.cli import (
    ab,
    assemble,
    decide,
    doctor,
    goals,
    limits,
    listing,
    mutants,
    opcodes,
    oxide,
    parity,
    plot,
    profile,
    ptx,
    receipt,
    review,
    sanitize,
    selftest,
    simulate,
    subjects,
    timing,
    toolchain,
    tune,
)
from diffcheck.errors import DiffcheckError
from diffcheck.terminal import print_error
from diffcheck.version import CONTRACT, tool_version

_OUTPUT_ERRORS = frozenset({errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG, errno.EBADF})
HOLDS, DOES_NOT_HOLD, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    help="Compare implementations of split-K decode attention with each other, to the bit, with or without a GPU.",
    epilog="Exit code: 0 holds, 1 does not hold, 2 bad input or a missing requirement; decide has its own.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"diffcheck {tool_version()} (contract {CONTRACT})")
        raise typer.Exit(HOLDS)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Compare implementations of split-K decode attention with each other, to the bit, with or without a GPU."""


listing.register(app)
parity.register(app)
selftest.register(app)
sanitize.register(app)
mutants.register(app)
assemble.register(app)
limits.register(app)
ptx.register(app)
oxide.register(app)
opcodes.register(app)
timing.register(app)
tune.register(app)
profile.register(app)
toolchain.register(app)
ab.register(app)
receipt.register(app)
decide.register(app)
review.register(app)
goals.register(app)
plot.register(app)
subjects.register(app)
doctor.register(app)
simulate.register(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Errors that a user can act on become one line on standard error."""
    command = typer.main.get_command(app)
    try:
        # `obj` is how a command knows its own line, whoever runs it: what it records must be what was asked.
        code = command.main(list(arguments), prog_name="diffcheck", standalone_mode=False, obj=tuple(arguments))
    except DiffcheckError as error:
        print_error(str(error))
        return BAD_INPUT
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader (such as `head`) has gone; nothing more can be said.
        _discard_output()
        return DOES_NOT_HOLD
    except OSError as error:
        # Files are written by `receipts.write`, which has lines of its own; what is left is standard output.
        if error.errno not in _OUTPUT_ERRORS or error.filename is not None:
            raise
        return _output_failed(error)
    except Exception as error:
        # The parser's own complaints; its exception classes moved between versions of typer.
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        text = str(describe())
        if type(error).__name__ == "NoArgsIsHelpError":
            # No command was named: the message is the whole help, which is no line of ours.
            print(text, file=sys.stderr)
        elif text:
            print_error(text)
        return BAD_INPUT
    if code == INTERRUPTED:  # some versions of typer turn an interruption into this code themselves
        print_error("interrupted; no result was written")
    return code if isinstance(code, int) else HOLDS


def _output_failed(error: OSError) -> int:
    _discard_output()
    print_error(f"standard output cannot be written ({error.strerror})")
    return BAD_INPUT


def _discard_output() -> None:
    """Send what is left in standard output's buffer nowhere, so that the interpreter does not try again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flushed(code: int) -> int:
    """Write out what is buffered; return the exit code, or that of an output which cannot be written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return DOES_NOT_HOLD if code == HOLDS else code
    except OSError as error:
        return _output_failed(error)
    return code


def main() -> None:
    """Run the command line of this process."""
    # A stream that was closed (`>&-`) is None; whatever is said goes nowhere, and the exit code stays.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    code = _flushed(run(sys.argv[1:]))
    if code == INTERRUPTED:
        # Worker threads may be deep in a launch that only ends by itself: do not wait for them.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
