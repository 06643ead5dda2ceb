"""The builder's one error, which names the line of kernel code that asked for something PTX does not have."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)
# `with` blocks of the builder run through contextlib, which no reader of the error wrote.
_SKIPPED = (_PACKAGE, contextlib.__file__)


class PtxBuildError(ValueError):
    """An instruction, operand or declaration that PTX does not allow for this target.

    The message starts with `file:line` of the innermost caller outside the builder.
    """

    def __init__(self, message: str) -> None:
        super().__init__(f"{caller()}: {message}")


def caller() -> str:
    """`file:line` of the innermost frame that is not part of the builder."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_SKIPPED):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
