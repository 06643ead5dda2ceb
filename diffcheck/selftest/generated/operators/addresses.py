"""Addresses and parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator
from diffcheck.selftest.generated.ptx_text import Statement

ADDRESS = re.compile(r"\[\s*(?P<base>[%\w$.]+)\s*(?:\+\s*(?P<offset>-?\d+))?\s*\]")
_NUMBERED = re.compile(r"\[\s*(?P<stem>\w+_param_)(?P<number>\d+)\s*\]")
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}


def element_bytes(statement: Statement) -> int:
    """Return the bytes that a load, store or copy moves."""
    if statement.opcode == "cp":
        return 16
    width = _BYTES.get(statement.parts[-1][1:], 4)
    vector = next((int(part[1:]) for part in statement.parts if part in ("v2", "v4")), 1)
    return width * vector


@operator("address", "an address is off by an element, by 4 or by 16 bytes")
def _address(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if "param" in statement.parts:
        return
    for at, operand in enumerate(statement.operands):
        match = ADDRESS.fullmatch(operand)
        if match is None:
            continue
        size = element_bytes(statement)
        for by in sorted({size, -size, 4, -4, 16, -16}):
            offset = int(match["offset"] or 0) + by
            text = statement.with_operand(at, f"[{match['base']}+{offset}]")
            yield become(statement, f"operand {at} {by:+}", text)


@operator("parameter", "a parameter is the one beside it")
def _parameter(flow: Flow, statement: Statement) -> Iterator[Change]:
    if "param" not in statement.parts:
        return
    names = re.findall(r"\.param\s+\.\w+(?:\s+\.ptr)?(?:\s+\.align\s+\d+)?\s+([\w$]+)", flow.kernel.head)
    name = statement.operands[-1].strip("[] ")
    if name not in names:
        return
    at = names.index(name)
    for other in names[max(at - 1, 0) : at] + names[at + 1 : at + 2]:
        yield become(statement, f"{name} -> {other}", statement.written(operands=(statement.operands[0], f"[{other}]")))
