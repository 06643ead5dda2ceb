"""Constants that are off by one, doubled, or have a bit flipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diffcheck.selftest.generated.effects import has_result
from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator
from diffcheck.selftest.generated.operators.statements import is_synchronising
from diffcheck.selftest.generated.ptx_text import Statement

_INTEGER = re.compile(r"-?\d+")
_FLOAT = re.compile(r"0[fF][0-9a-fA-F]{8}")
_WORD = 1 << 32


def float_bits(literal: str) -> int:
    """Return the bit pattern of a literal such as `0f3F800000`."""
    return int(f"0x{literal[2:]}", 0)


def _sources(statement: Statement, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for at in range(has_result(statement), len(statement.operands)):
        if pattern.fullmatch(statement.operands[at]):
            yield at, statement.operands[at]


@operator("integer", "a whole number is off by one, doubled, or has a bit flipped")
def _integer(_flow: Flow, statement: Statement) -> Iterator[Change]:
    # Lanes, masks and barriers have operators of their own; a copy's size is part of its form.
    if statement.opcode in ("shfl", "vote", "cp") or is_synchronising(statement):
        return
    for at, operand in _sources(statement, _INTEGER):
        value = int(operand)
        others = {"+1": value + 1, "-1": value - 1, "·2": 2 * value, "bit 3": value ^ 8, "bit 31": value ^ (1 << 31)}
        for name, other in others.items():
            if other != value and -(1 << 31) <= other < _WORD:
                yield become(statement, f"{value} {name}", statement.with_operand(at, str(other)))


@operator("float-ulp", "a floating-point constant is one bit pattern off")
def _float_ulp(_flow: Flow, statement: Statement) -> Iterator[Change]:
    for at, operand in _sources(statement, _FLOAT):
        bits = float_bits(operand)
        for name, other in (("+1", bits + 1), ("-1", bits - 1)):
            if 0 <= other < _WORD:
                yield become(statement, f"{operand} {name}", statement.with_operand(at, f"0f{other:08X}"))


@operator("float-value", "a floating-point constant is doubled, halved or has the other sign")
def _float_value(_flow: Flow, statement: Statement) -> Iterator[Change]:
    for at, operand in _sources(statement, _FLOAT):
        bits = float_bits(operand)
        exponent = bits >> 23 & 0xFF
        others = {"sign": bits ^ (1 << 31)}
        if 1 < exponent < 254:
            others |= {"·2": bits + (1 << 23), "/2": bits - (1 << 23)}
        for name, other in others.items():
            yield become(statement, f"{operand} {name}", statement.with_operand(at, f"0f{other:08X}"))
