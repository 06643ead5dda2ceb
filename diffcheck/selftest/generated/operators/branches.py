"""Branches: not taken, always taken, taken to another place."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator, removed
from diffcheck.selftest.generated.ptx_text import Statement


@operator("branch-dropped", "a branch is never taken")
def _dropped(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.opcode == "bra":
        yield removed(statement, statement.operands[0])


@operator("branch-target", "a branch goes to the label before or behind its own")
def _target(flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.opcode != "bra":
        return
    labels = list(flow.kernel.labels)
    at = labels.index(statement.operands[0])
    for other in labels[max(at - 1, 0) : at] + labels[at + 1 : at + 2]:
        yield become(statement, f"-> {other}", statement.written(operands=(other,)))
