"""Which statement may follow which, and which registers are live behind each.

Liveness is the classic backward data flow (Kildall 1973): a register is live behind a statement when some path from
there reads it before a statement overwrites it for sure. A guarded statement overwrites nothing for sure, and of the
lanes of a warp each takes its own path, so that the analysis of one thread holds for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from diffcheck.selftest.generated.effects import Effects, effects_of
from diffcheck.selftest.generated.ptx_text import Kernel, MutationError, Statement

END = -1
"""The successor of a statement that leaves the kernel."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A kernel's statements with their effects and successors."""

    kernel: Kernel
    effects: tuple[Effects, ...]
    successors: tuple[tuple[int, ...], ...]

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """The statements from which control may come to each one."""
        found: list[list[int]] = [[] for _ in self.successors]
        for index, following in enumerate(self.successors):
            for successor in following:
                if successor != END:
                    found[successor].append(index)
        return tuple(map(tuple, found))

    @cached_property
    def reachable(self) -> frozenset[int]:
        """The statements that some path from the first one comes to."""
        return frozenset(self._from(0)) | {0}

    @cached_property
    def in_cycle(self) -> frozenset[int]:
        """The statements that may be executed again after themselves."""
        return frozenset(index for first in self.leaders for index in self._block_in_cycle(first))

    @cached_property
    def definitions(self) -> dict[str, tuple[int, ...]]:
        """The statements that write each register."""
        found: dict[str, list[int]] = {}
        for index, effects in enumerate(self.effects):
            for register in effects.writes:
                found.setdefault(register, []).append(index)
        return {register: tuple(indices) for register, indices in found.items()}

    @cached_property
    def leaders(self) -> frozenset[int]:
        """The statements that control may come to otherwise than from the one before, and those behind a branch."""
        labelled = set(self.kernel.labels.values())
        behind = {index + 1 for index, effects in enumerate(self.effects) if effects.control}
        return frozenset(index for index in labelled | behind | {0} if index < len(self.effects))

    def is_live_behind(self, index: int, register: str) -> bool:
        """Tell whether a register may be read behind a statement before it is written."""
        return bool(self._live[index] >> self._numbers[register] & 1) if register in self._numbers else False

    def is_live_before(self, index: int, register: str) -> bool:
        """Tell whether a register may be read from a statement on before it is written."""
        effects = self.effects[index]
        kept = not (effects.sure and register in effects.writes) and self.is_live_behind(index, register)
        return kept or register in effects.reads

    def always_before(self, first: int, index: int) -> bool:
        """Tell whether every path to a statement goes through another one first."""
        return index not in (0, first) and (first == 0 or index not in self._from(0, first))

    def _from(self, start: int, avoiding: int = END) -> set[int]:
        """The statements behind one, but for what only lies behind another."""
        seen: set[int] = set()
        waiting = list(self.successors[start])
        while waiting:
            index = waiting.pop()
            if index not in (END, avoiding) and index not in seen:
                seen.add(index)
                waiting += self.successors[index]
        return seen

    def _block_in_cycle(self, first: int) -> range:
        """The statements from a leader to the next one if control may come back to it, else none."""
        if first not in self._from(first):
            return range(0)
        end = first + 1
        while end < len(self.successors) and end not in self.leaders:
            end += 1
        return range(first, end)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        registers = {name for effects in self.effects for name in effects.reads | effects.writes}
        return {name: number for number, name in enumerate(sorted(registers))}

    @cached_property
    def _live(self) -> list[int]:
        """For each statement, a set of register numbers as the bits of one integer."""
        numbers = self._numbers
        reads = [sum(1 << numbers[name] for name in effects.reads) for effects in self.effects]
        kept = [~sum(1 << numbers[name] for name in effects.writes) if effects.sure else -1 for effects in self.effects]
        before, behind = [0] * len(reads), [0] * len(reads)
        waiting = list(range(len(reads)))
        while waiting:
            index = waiting.pop()
            live = 0
            for successor in self.successors[index]:
                live |= before[successor] if successor != END else 0
            behind[index] = live
            needed = reads[index] | (live & kept[index])
            if needed != before[index]:
                before[index] = needed
                waiting += self.predecessors[index]
        return behind


def flow_of(kernel: Kernel) -> Flow:
    """Return a kernel's control flow. Raises `MutationError` for a branch to no label and for one that is computed."""
    statements = kernel.statements
    effects = tuple(effects_of(kernel, statement) for statement in statements)
    return Flow(kernel, effects, tuple(_successors(kernel, statement) for statement in statements))


def _successors(kernel: Kernel, statement: Statement) -> tuple[int, ...]:
    following = statement.index + 1 if statement.index + 1 < len(kernel.statements) else END
    if statement.opcode == "bra":
        label = statement.operands[0]
        if label not in kernel.labels:
            raise MutationError(f"line {statement.line} of {kernel.entry} branches to {label}, which is no label")
        target = kernel.labels[label]
        taken = target if target < len(kernel.statements) else END
        return (taken, following) if statement.guard else (taken,)
    if statement.opcode in ("ret", "exit", "trap"):
        return (END, following) if statement.guard else (END,)
    if statement.opcode == "brx":
        raise MutationError(f"line {statement.line} of {kernel.entry}: a computed branch is not followed")
    return (following,)
