"""Operands: another register, another order."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.effects import has_result
from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import (
    Change,
    become,
    neighbours,
    operator,
    registers_in,
    replace_word,
)
from diffcheck.selftest.generated.ptx_text import Statement, split_operands

# Positions whose exchange changes what is computed. A sum's, a product's and a maximum's operands commute, and so do
# the two sides of a comparison for (in)equality.
_EXCHANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "sub": ((1, 2),),
    "div": ((1, 2),),
    "shl": ((1, 2),),
    "shr": ((1, 2),),
    "selp": ((1, 2),),
    "fma": ((1, 3), (2, 3)),
    "mad": ((1, 3),),
    "setp": ((1, 2),),
}


@operator("register", "an operand is another register that holds a value here")
def _register(flow: Flow, statement: Statement) -> Iterator[Change]:
    for at in range(has_result(statement), len(statement.operands)):
        operand = statement.operands[at]
        for word in registers_in(flow, statement, operand):
            for other in neighbours(flow, statement, word, 2):
                text = statement.with_operand(at, replace_word(operand, word, other))
                yield become(statement, f"operand {at}: {word} -> {other}", text)


@operator("result", "a result goes to another register that holds a value here")
def _result(flow: Flow, statement: Statement) -> Iterator[Change]:
    if not has_result(statement):
        return
    for word in registers_in(flow, statement, statement.operands[0]):
        for other in neighbours(flow, statement, word, 1):
            text = statement.with_operand(0, replace_word(statement.operands[0], word, other))
            yield become(statement, f"{word} -> {other}", text)


@operator("operands", "two operands are exchanged")
def _operands(flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.opcode == "setp" and statement.parts[1] in ("eq", "ne", "num", "nan", "equ", "neu"):
        return
    kernel = flow.kernel
    for a, b in _EXCHANGES.get(statement.opcode, ()):
        operands = list(statement.operands)
        types = {kernel.type_of(statement.scope, operands[at]) for at in (a, b) if at < len(operands)} - {None}
        if b >= len(operands) or operands[a] == operands[b] or len(types) > 1:
            continue
        operands[a], operands[b] = operands[b], operands[a]
        yield become(statement, f"{a} and {b}", statement.written(operands=operands))


@operator("vector", "two neighbours of a vector are exchanged")
def _vector(_flow: Flow, statement: Statement) -> Iterator[Change]:
    for at, operand in enumerate(statement.operands):
        if not operand.startswith("{"):
            continue
        elements = list(split_operands(operand[1:-1]))
        for first in range(len(elements) - 1):
            if elements[first] != elements[first + 1]:
                mixed = [*elements]
                mixed[first], mixed[first + 1] = mixed[first + 1], mixed[first]
                text = statement.with_operand(at, f"{{{', '.join(mixed)}}}")
                yield become(statement, f"{first} and {first + 1} of operand {at}", text)


_SPECIAL = {
    "%tid.x": ("%laneid", "%ctaid.x"),
    "%laneid": ("%tid.x",),
    "%ctaid.x": ("%ctaid.y", "%tid.x"),
    "%ctaid.y": ("%ctaid.x",),
    "%nctaid.x": ("%nctaid.y",),
    "%ntid.x": ("%nctaid.x",),
}


@operator("special-register", "a special register is another one")
def _special(_flow: Flow, statement: Statement) -> Iterator[Change]:
    for at, operand in enumerate(statement.operands):
        for other in _SPECIAL.get(operand, ()):
            yield become(statement, f"{operand} -> {other}", statement.with_operand(at, other))
