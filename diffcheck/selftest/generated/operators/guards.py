"""Guards: the predicate that decides whether an instruction is done."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, neighbours, operator
from diffcheck.selftest.generated.ptx_text import Statement


@operator("guard-negated", "an instruction is done exactly where it must not be")
def _negated(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.guard:
        sign = "" if statement.negated else "!"
        yield become(statement, statement.prefix.strip(), statement.written(prefix=f"@{sign}{statement.guard} "))


@operator("guard-removed", "an instruction is done everywhere")
def _removed(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.guard:
        yield become(statement, statement.prefix.strip(), statement.written(prefix=""))


@operator("guard-replaced", "another predicate decides whether an instruction is done")
def _replaced(flow: Flow, statement: Statement) -> Iterator[Change]:
    for other in neighbours(flow, statement, statement.guard, 2) if statement.guard else ():
        sign = "!" if statement.negated else ""
        text = statement.written(prefix=f"@{sign}{other} ")
        yield become(statement, f"{statement.guard} -> {other}", text)
