"""What an operator is, and the registry that the other modules of this package fill.

Adding an operator is one function with `@operator(...)` in a module that `diffcheck.selftest.generated.operators`
imports.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.ptx_text import Statement, words_of


@dataclass(frozen=True)
class Change:
    """One fault: the text from `start` to `end` becomes `text`. `detail` tells it from the operator's others there."""

    detail: str
    start: int
    end: int
    text: str


# Given a kernel and one of its statements, it yields every fault that it makes there.
Changes = Callable[[Flow, Statement], Iterator[Change]]


@dataclass(frozen=True)
class Operator:
    """One way of planting a fault; `what` says in words what it does wrong."""

    name: str
    what: str
    changes: Changes


_OPERATORS: dict[str, Operator] = {}


def operator(name: str, what: str) -> Callable[[Changes], Changes]:
    """Register an operator under `name`."""

    def register(changes: Changes) -> Changes:
        if name in _OPERATORS:
            raise ValueError(f"two operators are called {name}")
        _OPERATORS[name] = Operator(name, what, changes)
        return changes

    return register


def registered() -> Mapping[str, Operator]:
    """The registry, by name."""
    return _OPERATORS


def become(statement: Statement, detail: str, text: str) -> Change:
    """Return the change of one statement to another text."""
    return Change(detail, statement.start, statement.end, text)


def removed(statement: Statement, detail: str = "") -> Change:
    """Return the change that leaves a statement out."""
    return become(statement, detail or statement.mnemonic, "")


def replace_word(operand: str, word: str, other: str) -> str:
    """Return an operand with a name in it replaced, wherever it stands."""
    return re.sub(rf"(?<![\w%$]){re.escape(word)}(?![\w$])", other.replace("\\", "\\\\"), operand)


def registers_in(flow: Flow, statement: Statement, operand: str) -> tuple[str, ...]:
    """Return the registers that an operand names, as written, each once."""
    kernel = flow.kernel
    words = (word for word in words_of(operand) if kernel.type_of(statement.scope, word) is not None)
    return tuple(dict.fromkeys(words))


def neighbours(flow: Flow, statement: Statement, word: str, wanted: int) -> tuple[str, ...]:
    """Return other registers of a register's type that hold a value here that is still needed, the nearest first.

    Nearest is what was written last before the statement in the order of the text. Only registers of the kernel's own
    scope are offered.
    """
    kernel = flow.kernel
    kind = kernel.type_of(statement.scope, word)
    found: list[str] = []
    for index in range(statement.index - 1, -1, -1):
        for register in sorted(flow.effects[index].writes):
            fits = kernel.type_of(0, register) == kind and register != word and register not in found
            if fits and flow.is_live_before(statement.index, register):
                found.append(register)
        if len(found) >= wanted:
            break
    return tuple(found[:wanted])
