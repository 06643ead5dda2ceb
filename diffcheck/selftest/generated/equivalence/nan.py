"""Comparisons that differ for NaN only, where the result of NaN is decided elsewhere."""

from __future__ import annotations

from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.population import GeneratedMutant
from diffcheck.selftest.generated.ptx_text import Statement


@rule("NaN is decided behind")
def decided_behind(mutant: GeneratedMutant) -> bool:
    """The exponential's cut-off says something else of NaN, and NaN itself is chosen for NaN behind it.

    The comparison `x REL constant` makes a predicate that one selection reads, whose result one other selection reads;
    that one gives x itself where `x` is NaN, by a comparison of x with itself, and the first selection's result where
    it is not. The comparison before and after the change differs for NaN only, where the first selection's result is
    not taken. All of them stand in one run of statements without a label or branch, so that the same x is meant.
    """
    flow, statement = mutant.subject.flow, mutant.statement
    if mutant.operator.name != "compare-nan" or statement.guard or not statement.operands[2].startswith("0f"):
        return False
    x = statement.operands[1]
    first = _only_reader(flow, statement)
    second = None if first is None else _only_reader(flow, first)
    if first is None or second is None or (first.opcode, second.opcode) != ("selp", "selp"):
        return False
    if first.operands[3] != statement.operands[0] or first.operands[0] == x:
        return False
    asked = _definition(flow, second, second.operands[3])
    if asked is None or asked.opcode != "setp" or asked.parts[1:] not in (("nan", "f32"), ("num", "f32")):
        return False
    if first.guard or second.guard or asked.guard:
        return False
    for_nan, other = second.operands[1:3] if asked.parts[1] == "nan" else (second.operands[2], second.operands[1])
    same_x = asked.operands[1:] == (x, x) and for_nan == x and other == first.operands[0]
    return same_x and not _written_between(flow, x, min(asked.index, statement.index), second.index)


def _only_reader(flow: Flow, statement: Statement) -> Statement | None:
    """Return the one statement that reads a result: behind it, before a leader, with the result dead from there on."""
    (result,) = flow.effects[statement.index].writes or ("",)
    readers: list[int] = []
    at = statement.index + 1
    while at < len(flow.effects) and at not in flow.leaders:
        effects = flow.effects[at]
        if result in effects.reads:
            readers.append(at)
        if result in effects.writes:
            return None
        if not flow.is_live_behind(at, result):
            break
        at += 1
    else:
        return None
    return flow.kernel.statements[readers[0]] if len(readers) == 1 else None


def _definition(flow: Flow, statement: Statement, register: str) -> Statement | None:
    """Return the statement before another in the same run that wrote a register last."""
    at = statement.index
    while at not in flow.leaders:
        at -= 1
        if register in flow.effects[at].writes:
            return flow.kernel.statements[at]
    return None


def _written_between(flow: Flow, register: str, first: int, last: int) -> bool:
    return any(register in flow.effects[at].writes for at in range(first, last))
