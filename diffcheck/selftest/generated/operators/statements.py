"""Whole instructions: left out, done twice, done in another order."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator, removed
from diffcheck.selftest.generated.ptx_text import Statement

SYNCHRONISING = ("bar", "barrier", "membar", "fence", "griddepcontrol")


def is_synchronising(statement: Statement) -> bool:
    """Tell whether a statement orders accesses; those have operators of their own."""
    return statement.opcode in SYNCHRONISING or statement.mnemonic.startswith(("cp.async.wait", "cp.async.commit"))


def writes_memory(statement: Statement) -> bool:
    """Tell whether a statement stores or copies."""
    return statement.opcode in ("st", "red", "atom") or statement.mnemonic.startswith(("cp.async.ca", "cp.async.cg"))


@operator("drop", "an instruction is left out")
def _drop(flow: Flow, statement: Statement) -> Iterator[Change]:
    if not (flow.effects[statement.index].control or is_synchronising(statement) or writes_memory(statement)):
        yield removed(statement)


@operator("drop-store", "a store or a copy is left out")
def _drop_store(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if writes_memory(statement):
        yield removed(statement)


@operator("repeat", "an instruction that takes its own result is done twice")
def _repeat(flow: Flow, statement: Statement) -> Iterator[Change]:
    # Doing any other instruction twice leaves what doing it once does.
    effects = flow.effects[statement.index]
    if effects.writes & effects.reads:
        yield become(statement, statement.mnemonic, f"{statement.written()} {statement.written()}")


@operator("exchange", "an instruction changes places with the next one")
def _exchange(flow: Flow, statement: Statement) -> Iterator[Change]:
    at = statement.index + 1
    if at >= len(flow.effects) or at in flow.leaders or flow.effects[at].control:
        return
    following = flow.kernel.statements[at]
    if following.scope == statement.scope:
        between = flow.kernel.text[statement.end : following.start]
        if "\n" not in between or not between.rsplit("\n", 1)[1].strip():
            text = f"{following.written()} {statement.written()}"
            yield Change(f"{statement.mnemonic}, {following.mnemonic}", statement.start, following.end, text)
