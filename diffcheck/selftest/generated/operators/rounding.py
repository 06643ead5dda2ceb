"""Roundings: another direction, flushed denormals, left to the assembler, approximate."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator
from diffcheck.selftest.generated.ptx_text import Statement

_ARITHMETIC = ("add", "sub", "mul", "fma", "div")


def _rounded(statement: Statement) -> bool:
    return statement.opcode in _ARITHMETIC and statement.parts[1:] == ("rn", "f32")


@operator("rounding", "a result is rounded in another direction")
def _direction(_flow: Flow, statement: Statement) -> Iterator[Change]:
    for other in ("rz", "rm", "rp") if _rounded(statement) else ():
        mnemonic = f"{statement.opcode}.{other}.f32"
        yield become(statement, f"rn -> {other}", statement.written(mnemonic=mnemonic))


@operator("flush", "denormals are flushed to zero")
def _flush(_flow: Flow, statement: Statement) -> Iterator[Change]:
    comparison = statement.opcode == "setp" and statement.parts[-1] == "f32"
    if _rounded(statement) or comparison or statement.mnemonic == "max.f32":
        mnemonic = ".".join((*statement.parts[:-1], "ftz", statement.parts[-1]))
        yield become(statement, statement.mnemonic, statement.written(mnemonic=mnemonic))


@operator("fusible", "a rounding is not said, so that an assembler may fuse the operation with another")
def _fusible(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if _rounded(statement) and statement.opcode in ("add", "sub", "mul"):
        yield become(statement, statement.mnemonic, statement.written(mnemonic=f"{statement.opcode}.f32"))


@operator("approximate", "a division is approximate")
def _approximate(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.mnemonic == "div.rn.f32":
        for other in ("div.approx.f32", "div.full.f32"):
            yield become(statement, f"-> {other}", statement.written(mnemonic=other))
