"""Comparisons that are off at the edge, the other way round, or wrong about NaN."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator
from diffcheck.selftest.generated.ptx_text import Statement

_EDGE = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "lo": "ls", "ls": "lo", "hi": "hs", "hs": "hi"}
_OPPOSITES = (("lt", "ge"), ("gt", "le"), ("eq", "ne"), ("lo", "hs"), ("hi", "ls"), ("num", "nan"))
_OPPOSITE = {**dict(_OPPOSITES), **{b: a for a, b in _OPPOSITES}}
_DIRECTION = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}


def _relation(statement: Statement) -> str:
    return statement.parts[1] if statement.opcode in ("setp", "set") else ""


def _with_relation(statement: Statement, relation: str) -> Change:
    parts = (statement.parts[0], relation, *statement.parts[2:])
    old = _relation(statement)
    return become(statement, f"{old} -> {relation}", statement.written(mnemonic=".".join(parts)))


def _swapped(table: dict[str, str], relation: str) -> str:
    """Look a relation up; one that is also true of NaN, such as `ltu`, keeps being so."""
    unordered = relation.endswith("u") and relation[:-1] in table
    found = table.get(relation[:-1] if unordered else relation, "")
    return f"{found}u" if found and unordered else found


@operator("compare-edge", "a comparison takes or leaves the case of equality")
def _edge(_flow: Flow, statement: Statement) -> Iterator[Change]:
    other = _swapped(_EDGE, _relation(statement))
    if other:
        yield _with_relation(statement, other)


@operator("compare-opposite", "a comparison says the opposite")
def _opposite(_flow: Flow, statement: Statement) -> Iterator[Change]:
    other = _swapped(_OPPOSITE, _relation(statement))
    if other:
        yield _with_relation(statement, other)


@operator("compare-direction", "a comparison looks the other way")
def _direction(_flow: Flow, statement: Statement) -> Iterator[Change]:
    other = _swapped(_DIRECTION, _relation(statement))
    if other:
        yield _with_relation(statement, other)


@operator("compare-nan", "a comparison is wrong about NaN")
def _nan(_flow: Flow, statement: Statement) -> Iterator[Change]:
    relation = _relation(statement)
    if relation in ("", "num", "nan") or statement.parts[-1] != "f32":
        return
    yield _with_relation(statement, relation[:-1] if relation.endswith("u") else f"{relation}u")
