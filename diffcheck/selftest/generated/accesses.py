"""Which bytes of memory a load, store or copy touches, as far as its text says."""

from __future__ import annotations

from dataclasses import dataclass

from diffcheck.selftest.generated.operators.addresses import ADDRESS, element_bytes
from diffcheck.selftest.generated.ptx_text import Statement


@dataclass(frozen=True)
class Access:
    """`size` bytes at `offset` from what `base` names, in a state space."""

    space: str
    base: str
    offset: int
    size: int
    writes: bool


def accesses_of(statement: Statement) -> tuple[Access, ...]:
    """Return what a statement touches; nothing where that is not known, as for a generic address."""
    if statement.mnemonic in ("cp.async.cg.shared.global", "cp.async.ca.shared.global"):
        size = int(statement.operands[2])
        return _found(("shared", statement.operands[0], size, True), ("global", statement.operands[1], size, False))
    space = next((part for part in statement.parts if part in ("shared", "global")), "")
    if statement.opcode == "ld" and space:
        return _found((space, statement.operands[1], element_bytes(statement), False))
    if statement.opcode == "st" and space:
        return _found((space, statement.operands[0], element_bytes(statement), True))
    return ()


def _found(*touched: tuple[str, str, int, bool]) -> tuple[Access, ...]:
    matches = [ADDRESS.fullmatch(address) for _, address, _, _ in touched]
    if not all(matches):
        return ()
    return tuple(
        Access(space, match["base"], int(match["offset"] or 0), size, writes)
        for (space, _, size, writes), match in zip(touched, matches, strict=True)
        if match is not None
    )
