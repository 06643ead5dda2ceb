"""Types: the sign of whole numbers, the width of a load."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator
from diffcheck.selftest.generated.ptx_text import Statement, split_operands

_SIGNS = {"u32": "s32", "s32": "u32", "u64": "s64", "s64": "u64"}
# Sums, low halves of products, (in)equality and conversions to as few bits or fewer are the same for both.
_SIGNED = ("setp", "min", "max", "shr", "div", "rem")


@operator("sign", "whole numbers with a sign are taken for such without one, or the other way round")
def _sign(_flow: Flow, statement: Statement) -> Iterator[Change]:
    wide = statement.opcode in ("mul", "mad") and statement.parts[1] in ("wide", "hi")
    widening = (
        statement.opcode == "cvt" and statement.parts[1] in ("u64", "s64") and statement.parts[-1] in ("u32", "s32")
    )
    order = statement.opcode in _SIGNED and statement.parts[1] not in ("eq", "ne")
    last = statement.parts[-1]
    if (wide or widening or order) and last in _SIGNS:
        mnemonic = ".".join((*statement.parts[:-1], _SIGNS[last]))
        yield become(statement, f"{last} -> {_SIGNS[last]}", statement.written(mnemonic=mnemonic))


@operator("width", "a load brings only half of what it should")
def _width(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.opcode != "ld" or "param" in statement.parts:
        return
    if "v4" in statement.parts:
        elements = split_operands(statement.operands[0].strip("{}"))[:2]
        mnemonic = ".".join("v2" if part == "v4" else part for part in statement.parts)
        operands = (f"{{{', '.join(elements)}}}", *statement.operands[1:])
        yield become(statement, "v4 -> v2", statement.written(mnemonic=mnemonic, operands=operands))
    elif statement.parts[-1] in ("b32", "u32", "f32"):
        mnemonic = ".".join((*statement.parts[:-1], "u16"))
        yield become(statement, "16 bits", statement.written(mnemonic=mnemonic))
