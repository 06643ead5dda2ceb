"""Which lanes of a register are needed behind each statement: liveness, lane by lane.

A lane is needed where some path reads it into something that other threads or the host can see: a store, an address, a
branch. (A load from elsewhere may be a fault even where no one reads what it brings.) An instruction that computes lane
by lane needs of its operands the lanes that are needed of its result, and a shuffle with a constant rule the lanes that
it takes. A guard whose value in a lane is known (`Lanes`), or in all of them (`Ranges`), does or does not overwrite
that lane, and where it is false only the guard itself is needed.
"""

from __future__ import annotations

from functools import lru_cache

from diffcheck.selftest.generated.flow import END, Flow
from diffcheck.selftest.generated.lanes import lanes_of
from diffcheck.selftest.generated.ptx_text import Statement
from diffcheck.selftest.generated.ranges import ranges_of
from diffcheck.selftest.generated.shuffle import LANES, sources

ALL = (1 << LANES) - 1


class Demand:
    """The analysis of one kernel. A set of lanes is a number of 32 bits, lane 0 the lowest.

    `guards`: each guard is needed, also that of an instruction whose result is not, as it may not be undefined.
    """

    def __init__(self, flow: Flow, *, guards: bool = False) -> None:
        self.flow = flow
        self._guards = guards
        registers = {name for effects in flow.effects for name in effects.reads | effects.writes}
        self._at = {name: LANES * number for number, name in enumerate(sorted(registers))}
        self._unreached: set[int] = set()
        self._known = self._decided()
        self._behind = self._solve()

    def behind(self, index: int, register: str) -> int:
        """Return the lanes of a register that are needed behind a statement."""
        return self._behind[index] >> self._at[register] & ALL if register in self._at else 0

    def _decided(self) -> dict[int, tuple[int, int]]:
        """For each statement of which it is known, the lanes in which it is done for sure, and those in which not."""
        found = dict(lanes_of(self.flow).decided)
        for index, (state, statement) in enumerate(ranges_of(self.flow).states()):
            if state is None:
                self._unreached.add(index)
            elif statement.guard:
                guard = self.flow.kernel.register(statement.scope, statement.guard)
                truth = None if guard is None else state.truth(guard)
                if truth is not None:
                    found[index] = (0, ALL) if truth is statement.negated else (ALL, 0)
        return found

    def _solve(self) -> list[int]:
        count = len(self.flow.effects)
        before, behind = [0] * count, [0] * count
        waiting = list(range(count))
        while waiting:
            index = waiting.pop()
            needed = 0
            for successor in self.flow.successors[index]:
                needed |= before[successor] if successor != END else 0
            behind[index] = needed
            new = self._before(index, needed)
            if new != before[index]:
                before[index] = new
                waiting += self.flow.predecessors[index]
        return behind

    def _before(self, index: int, behind: int) -> int:
        """Return what is needed before a statement, from what is needed behind it."""
        effects, statement = self.flow.effects[index], self.flow.kernel.statements[index]
        done, left_out = self._known.get(index, (0, 0)) if statement.guard else (ALL, 0)
        if index in self._unreached:
            return 0
        wanted = 0
        for register in effects.writes:
            wanted |= behind >> self._at[register] & ALL
            behind &= ~(done << self._at[register])
        may = ALL & ~left_out
        if not effects.pure and statement.opcode != "shfl":
            wanted = ALL
        lanes = wanted & may
        guard = self.flow.kernel.register(statement.scope, statement.guard) if statement.guard else None
        for register in effects.reads:
            if register == guard:
                # A branch is the warp's; any other guard is each lane's own. That its value is known does not make it
                # superfluous: something else in its place would have another one.
                behind |= (ALL if effects.control or self._guards else wanted) << self._at[register]
            else:
                behind |= self._read(statement, register, lanes) << self._at[register]
        return behind

    def _read(self, statement: Statement, register: str, lanes: int) -> int:
        """Return the lanes that a statement needs of a register that it reads, to give some lanes their results."""
        if statement.opcode == "selp" and not statement.guard:
            return self._selected(statement, register, lanes)
        if statement.opcode != "shfl":
            return lanes
        if self.flow.kernel.register(statement.scope, statement.operands[1]) != register:
            return ALL
        try:
            taken = sources(statement.mnemonic, statement.operands)
        except ValueError:
            return ALL if lanes else 0
        needed = 0
        for lane in range(LANES):
            needed |= (1 << taken[lane]) if lanes >> lane & 1 else 0
        return needed

    def _selected(self, statement: Statement, register: str, lanes: int) -> int:
        """Return the lanes in which a selection may take a register, or asks for it."""
        first, second = self._known.get(statement.index, (0, 0))
        needed = 0
        for operand, never in zip(statement.operands[1:], (second, first, 0), strict=True):
            if self.flow.kernel.register(statement.scope, operand) == register:
                needed |= lanes & ~never
        return needed


@lru_cache(maxsize=64)
def demand_of(flow: Flow, *, guards: bool = False) -> Demand:
    """Return the analysis of a kernel, made once."""
    return Demand(flow, guards=guards)
