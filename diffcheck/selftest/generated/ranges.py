"""Between which bounds whole-number registers lie, and which predicates are known, at each statement of a kernel.

An interval analysis (Cousot & Cousot 1977): values of 32 bits are taken as signed, every register that nothing is known
of has the whole range, a branch on a comparison narrows what was compared, and loops are widened to the ends of the
range. What is assumed of a launch is in `LAUNCH` and `PARAMETERS`; the contract (docs/contract.md, sections 3 and 8)
and the hardware see to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from diffcheck.selftest.generated.comparison import Comparison, comparison_of
from diffcheck.selftest.generated.flow import END, Flow
from diffcheck.selftest.generated.interval import WIDEST, Interval, computed, constant, hull
from diffcheck.selftest.generated.ptx_text import Statement

# A context has fewer than 2^31 keys: as many in f16 take 1 TiB a KV head.
PARAMETERS = Interval(1, 2**31 - 1)
# The number of splits, by the builder's name and by its place (contract, section 8).
N_SPLITS = Interval(1, 65535)
_N_SPLITS = re.compile(r"\[(n_splits|splitk_partial_\w+_param_8|splitk_reduce_\w+_param_4)\]")
LAUNCH = {
    "%laneid": Interval(0, 31),
    "%tid.x": Interval(0, 1023),
    "%ctaid.x": Interval(0, 2**31 - 2),
    "%ctaid.y": Interval(0, 65534),
    "%ntid.x": Interval(1, 1024),
    "%nctaid.x": Interval(1, 2**31 - 1),
}
# Visits of a block after which its bounds are widened.
_PATIENCE = 3


@dataclass
class State:
    """What is known before one statement: intervals of registers, comparisons that made predicates, their values."""

    values: dict[str, Interval] = field(default_factory=dict)
    made_by: dict[str, Comparison] = field(default_factory=dict)
    known: dict[str, bool] = field(default_factory=dict)

    def copy(self) -> State:
        """Return the same knowledge, to be changed apart from this."""
        return State(dict(self.values), dict(self.made_by), dict(self.known))

    def truth(self, predicate: str) -> bool | None:
        """Return the value that a predicate must have; None where it may have either."""
        if predicate in self.known:
            return self.known[predicate]
        comparison = self.made_by.get(predicate)
        return None if comparison is None else self.holds(comparison)

    def holds(self, comparison: Comparison) -> bool | None:
        """Return what a comparison must say; None where it may say either."""
        return comparison.holds(self.value(comparison.a), self.value(comparison.b))

    def value(self, operand: str | int) -> Interval:
        """Return between which bounds a register or constant lies."""
        return Interval(operand, operand) if isinstance(operand, int) else self.values.get(operand, WIDEST)

    def assume(self, predicate: str, value: bool) -> State | None:
        """Return what is known where a predicate has a value, in addition; None where it cannot have it."""
        if self.truth(predicate) is (not value):
            return None
        state = self.copy()
        state.known[predicate] = value
        comparison = self.made_by.get(predicate)
        if comparison is not None:
            holding = comparison if value else comparison.negated()
            narrowed = holding.narrow(self.value(holding.a), self.value(holding.b))
            if narrowed is None:
                return None
            for operand, interval in zip((holding.a, holding.b), narrowed, strict=True):
                if isinstance(operand, str):
                    state.values[operand] = interval
        return state

    def forget(self, register: str) -> None:
        """Drop everything that is known of a register that is written."""
        self.values.pop(register, None)
        self.known.pop(register, None)
        self.made_by.pop(register, None)
        for predicate in [p for p, comparison in self.made_by.items() if register in (comparison.a, comparison.b)]:
            # The predicate keeps its value, but says nothing of the register any more.
            truth = self.truth(predicate)
            del self.made_by[predicate]
            if truth is not None:
                self.known[predicate] = truth


def joined(a: State, b: State, marks: Sequence[int] | None = None) -> State:
    """Return what is known of both; with marks, bounds of `b` past those of `a` are widened to the next mark."""
    values: dict[str, Interval] = {}
    for name in a.values.keys() & b.values.keys():
        both = hull(a.values[name], b.values[name])
        values[name] = both if marks is None else both.widened(a.values[name], marks)
    made_by = {name: made for name, made in a.made_by.items() if b.made_by.get(name) == made}
    known = {name: value for name, value in a.known.items() if b.truth(name) is value}
    known |= {name: value for name, value in b.known.items() if a.truth(name) is value}
    return State(values, made_by, known)


class Ranges:
    """The analysis of one kernel."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._starts = sorted(flow.leaders)
        # What is compared with is where a loop's bounds come to rest.
        compared = {constant(operand) for s in flow.kernel.statements if s.opcode == "setp" for operand in s.operands}
        self._marks = sorted({0, *(number for number in compared if number is not None)})
        self._entries: dict[int, State] = {0: State()}
        # What was asked for last: many rules ask about the same mutant.
        self._last: tuple[int, State | None] = (-1, None)
        self._solve()

    def before(self, index: int) -> State | None:
        """Return what is known before a statement, not to be changed; None where control never comes to it."""
        at, state = self._last
        if at != index:
            state = self._before(index)
            self._last = index, state
        return state

    def _before(self, index: int) -> State | None:
        start = max(leader for leader in self._starts if leader <= index)
        state = self._entries.get(start)
        if state is None:
            return None
        state = state.copy()
        for at in range(start, index):
            self._step(state, at)
        return state

    def states(self) -> Iterator[tuple[State | None, Statement]]:
        """Yield what is known before each statement, and the statement; only good until the next is asked for."""
        state: State | None = None
        for index, statement in enumerate(self.flow.kernel.statements):
            if index in self.flow.leaders:
                entered = self._entries.get(index)
                state = None if entered is None else entered.copy()
            yield state, statement
            if state is not None:
                self._step(state, index)

    def _solve(self) -> None:
        visits: dict[int, int] = {}
        waiting = [0]
        while waiting:
            start = waiting.pop()
            visits[start] = visits.get(start, 0) + 1
            for successor, state in self._leave(start):
                old = self._entries.get(successor)
                marks = self._marks if visits.get(successor, 0) >= _PATIENCE else None
                new = state if old is None else joined(old, state, marks)
                if old is None or new != old:
                    self._entries[successor] = new
                    if successor not in waiting:
                        waiting.append(successor)

    def _leave(self, start: int) -> list[tuple[int, State]]:
        """Return what is known where control leaves a block, for each block that it may go to."""
        state, at = self._entries[start].copy(), start
        while True:
            last = at + 1 >= len(self.flow.effects) or at + 1 in self.flow.leaders
            if last:
                return self._edges(state, at)
            self._step(state, at)
            at += 1

    def _edges(self, state: State, at: int) -> list[tuple[int, State]]:
        statement = self.flow.kernel.statements[at]
        if statement.opcode != "bra":
            self._step(state, at)
            return [(successor, state) for successor in self.flow.successors[at] if successor != END]
        taken, *behind = self.flow.successors[at]
        if not behind:
            return [(taken, state)] if taken != END else []
        found: list[tuple[int, State]] = []
        for successor, value in ((taken, not statement.negated), (behind[0], statement.negated)):
            assumed = state.assume(self._guard(statement), value)
            if assumed is not None and successor != END:
                found.append((successor, assumed))
        return found

    def _guard(self, statement: Statement) -> str:
        return self.flow.kernel.register(statement.scope, statement.guard or "") or ""

    def _step(self, state: State, at: int) -> None:
        """Change what is known before a statement to what is known behind it."""
        statement, effects = self.flow.kernel.statements[at], self.flow.effects[at]
        inside: State | None = state
        if statement.guard:
            inside = state.assume(self._guard(statement), not statement.negated)
        if inside is None:
            return
        made = comparison_of(self.flow.kernel, statement)
        result = None if effects.memory or effects.control else self._result(inside, statement)
        old = {name: state.value(name) for name in effects.writes}
        sure = statement.guard is None or state.truth(self._guard(statement)) is not None
        for name in effects.writes:
            state.forget(name)
            if result is not None and len(effects.writes) == 1:
                state.values[name] = result if sure else hull(result, old[name])
        if made is not None and sure and len(effects.writes) == 1:
            (predicate,) = effects.writes
            if predicate not in (made.a, made.b):
                state.made_by[predicate] = made

    def _result(self, state: State, statement: Statement) -> Interval | None:
        """Return the bounds of what a statement computes; None where nothing is known of them."""
        if statement.mnemonic in ("ld.param.u32", "ld.param.b32"):
            return N_SPLITS if _N_SPLITS.fullmatch(statement.operands[1]) else PARAMETERS
        operands: list[Interval] = []
        for operand in statement.operands[1:]:
            read = operand_of(self.flow, statement, operand)
            if read is None:
                return self._special(operand) if statement.opcode == "mov" else None
            operands.append(state.values.get(read, WIDEST) if isinstance(read, str) else Interval(read, read))
        if statement.opcode == "selp":
            return self._selected(state, statement, operands)
        return computed(statement.parts, operands)

    def _special(self, name: str) -> Interval | None:
        """Return the bounds of a special register; a block has no more threads than the kernel states."""
        stated = re.search(r"\.maxntid\s+(\d+(?:\s*,\s*\d+)*)", self.flow.kernel.head)
        if name != "%tid.x" or not stated:
            return LAUNCH.get(name)
        return Interval(0, prod(int(extent) for extent in stated[1].split(",")) - 1)

    def _selected(self, state: State, statement: Statement, operands: list[Interval]) -> Interval:
        predicate = self.flow.kernel.register(statement.scope, statement.operands[3]) or ""
        truth = state.truth(predicate)
        return hull(operands[0], operands[1]) if truth is None else operands[0 if truth else 1]


def operand_of(flow: Flow, statement: Statement, operand: str) -> str | int | None:
    """Return the register that an operand is, or the whole number; None for anything else."""
    return flow.kernel.register(statement.scope, operand) or constant(operand)


@lru_cache(maxsize=64)
def ranges_of(flow: Flow) -> Ranges:
    """Return the analysis of a kernel, made once."""
    return Ranges(flow)
