"""Barriers, and copies in the background with the waits for them."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.effects import is_hint
from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator, removed
from diffcheck.selftest.generated.operators.statements import SYNCHRONISING
from diffcheck.selftest.generated.ptx_text import Statement

_WAIT = "cp.async.wait_group"


@operator("barrier-dropped", "a barrier, a fence or the wait for the kernel before is left out")
def _dropped(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.opcode in SYNCHRONISING and not is_hint(statement):
        yield removed(statement)


@operator("barrier-weaker", "a barrier of the block is one of each warp only")
def _weaker(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if statement.mnemonic in ("bar.sync", "barrier.sync", "barrier.sync.aligned"):
        yield become(statement, statement.mnemonic, f"{statement.prefix}bar.warp.sync -1;")


@operator("async-wait", "copies in the background are waited for too little or not at all")
def _wait(_flow: Flow, statement: Statement) -> Iterator[Change]:
    # To wait for more groups than it must costs time and changes nothing.
    if statement.mnemonic == _WAIT:
        groups = int(statement.operands[0])
        yield removed(statement, "never")
        yield become(statement, f"{groups} -> {groups + 1}", statement.with_operand(0, str(groups + 1)))


@operator("async-commit", "a group of copies does not end where it should")
def _commit(_flow: Flow, statement: Statement) -> Iterator[Change]:
    # An empty group more leaves fewer copies out of the groups that a wait may leave out: it only waits longer.
    if statement.mnemonic == "cp.async.commit_group":
        yield removed(statement)
