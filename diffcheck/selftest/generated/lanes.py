"""Which lanes of a warp hold the same value in a register, by symbolic evaluation of every lane.

A value is a number that stands for an expression: the same expression has the same number, sums and products do not
mind the order of their operands, and what depends on the lane alone is computed. Values that come into a block are
known by classes: the analysis starts from "all lanes hold the same in every register" and divides the lanes of a
register wherever a statement may make them differ, until nothing changes (an optimistic partition, as value numbering
makes it: Alpern, Wegman, Zadeck 1988, with lanes in the place of names). Where a branch may part the lanes of a warp,
nothing is said of what is written behind it.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from diffcheck.selftest.generated.flow import END, Flow
from diffcheck.selftest.generated.interval import constant
from diffcheck.selftest.generated.ptx_text import Statement, words_of
from diffcheck.selftest.generated.shuffle import LANES, sources

Values = tuple[int, ...]
"""One number for each lane."""
_COMMUTATIVE = ("add", "mul", "fma", "mad", "max", "min", "and", "or", "xor")
_WHOLE_NUMBERS = ("u32", "s32", "b32", "u64", "s64", "b64")
_WHOLE_WARP = ("-1", "4294967295", "0xffffffff", "0xFFFFFFFF")
# What is the same in all threads of a block. Any other special register may be another in each lane.
_UNIFORM = ("%ctaid.x", "%ctaid.y", "%nctaid.x", "%nctaid.y", "%ntid.x")


class Lanes:
    """The analysis of one kernel."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._numbers: dict[tuple[object, ...], int] = {}
        self._meanings: list[tuple[object, ...]] = []
        self._classes: dict[str, Values] = {}
        self._starts = sorted(flow.leaders)
        # The block that is evaluated: what a register holds as one begins is not what it holds as another does.
        self._block = 0
        # A register that is written once, whatever path is taken, holds that value wherever it is read.
        self._once = {
            register
            for register, (index, *others) in flow.definitions.items()
            if not others and flow.effects[index].sure and index not in flow.in_cycle
        }
        self._fixed: dict[str, Values] = {}
        while self._divide():
            pass

    @cached_property
    def decided(self) -> dict[int, tuple[int, int]]:
        """For each guarded statement, the lanes in which it is done for sure, and those in which it is not, as bits.

        For each selection, the lanes in which it takes its first value for sure, and its second.
        """
        found: dict[int, tuple[int, int]] = {}
        for start in self._starts:
            values = self._enter(start)
            at = start
            while at == start or (at < len(self.flow.effects) and at not in self.flow.leaders):
                statement = self.flow.kernel.statements[at]
                if statement.guard:
                    found[at] = self._known_lanes(self._guard(values, statement), statement.negated)
                elif statement.opcode == "selp":
                    found[at] = self._known_lanes(self._read(values, statement, statement.operands[3]), False)
                self._step(values, statement)
                at += 1
        return found

    def _known_lanes(self, guard: Values, negated: bool) -> tuple[int, int]:
        truths = [self._constant(number) for number in guard]
        done = sum(1 << lane for lane, truth in enumerate(truths) if truth is not None and bool(truth) is not negated)
        left_out = sum(1 << lane for lane, truth in enumerate(truths) if truth is not None and bool(truth) is negated)
        return done, left_out

    def shuffled(self, statement: Statement, changed: Statement) -> tuple[Values, Values]:
        """Return what a shuffle and a changed one leave in each lane."""
        values = self._before(statement)
        return self._result(values, statement), self._result(values, changed)

    def alike(self, statement: Statement, a: str, b: str) -> bool:
        """Tell whether two registers hold the same before a statement, each lane by itself, whatever path led there."""
        values = self._before(statement)
        return (
            self._read(values, statement, a) == self._read(values, statement, b)
            and self._is_written(values, statement, a)
            and self._is_written(values, statement, b)
        )

    def _is_written(self, values: dict[str, Values], statement: Statement, word: str) -> bool:
        """Tell whether a register that is written once has been, wherever control came from."""
        register = self.flow.kernel.register(statement.scope, word)
        if register is None or register in values or register not in self._fixed:
            return register is not None
        return self.flow.always_before(self.flow.definitions[register][0], statement.index)

    def _enter(self, start: int) -> dict[str, Values]:
        self._block = start
        return {}

    def _before(self, statement: Statement) -> dict[str, Values]:
        start = max(leader for leader in self._starts if leader <= statement.index)
        values = self._enter(start)
        for index in range(start, statement.index):
            self._step(values, self.flow.kernel.statements[index])
        return values

    def _divide(self) -> bool:
        """Evaluate every block once; tell whether a register's lanes were divided further."""
        before = dict(self._classes), dict(self._fixed)
        for start in self._starts:
            values = self._enter(start)
            at = start
            while True:
                statement = self.flow.kernel.statements[at]
                self._step(values, statement)
                for register in self.flow.effects[at].writes:
                    self._classes[register] = _meet(self._class(register), values[register])
                if statement.opcode == "bra" and statement.guard and len(set(self._guard(values, statement))) > 1:
                    self._part(at)
                at += 1
                if at >= len(self.flow.effects) or at in self.flow.leaders:
                    break
        return before != (self._classes, self._fixed)

    def _part(self, branch: int) -> None:
        """Say nothing of what is written behind a branch that parts the lanes."""
        waiting, seen = list(self.flow.successors[branch]), set[int]()
        while waiting:
            at = waiting.pop()
            if at != END and at not in seen:
                seen.add(at)
                waiting += self.flow.successors[at]
                for register in self.flow.effects[at].writes:
                    self._classes[register] = tuple(range(LANES))

    def _class(self, register: str) -> Values:
        return self._classes.get(register, (0,) * LANES)

    def _number(self, *meaning: object) -> int:
        if meaning not in self._numbers:
            self._numbers[meaning] = len(self._meanings)
            self._meanings.append(meaning)
        return self._numbers[meaning]

    def _constant(self, number: int) -> int | None:
        kind, *rest = self._meanings[number]
        return rest[0] if kind == "constant" and isinstance(rest[0], int) else None

    def _read(self, values: dict[str, Values], statement: Statement, operand: str) -> Values:
        register = self.flow.kernel.register(statement.scope, operand)
        if register is not None:
            return values.get(register) or self._coming_in(register)
        number = constant(operand)
        if number is not None:
            return (self._number("constant", number),) * LANES
        if operand == "%laneid":
            return tuple(self._number("constant", lane) for lane in range(LANES))
        if operand == "%tid.x":
            return tuple(self._number("thread", lane) for lane in range(LANES))
        if operand.startswith("%") and operand not in _UNIFORM:
            return tuple(self._number("special", operand, statement.index, lane) for lane in range(LANES))
        inner = [
            self._read(values, statement, word) for word in words_of(operand) if self._is_register(statement, word)
        ]
        # Anything else is the same text in all lanes, of the same registers.
        return tuple(self._number("text", operand, *(values_of[lane] for values_of in inner)) for lane in range(LANES))

    def _coming_in(self, register: str) -> Values:
        """Return what a register holds at the beginning of a block."""
        if register in self._fixed:
            return self._fixed[register]
        return tuple(self._number("in", self._block, register, number) for number in self._class(register))

    def _is_register(self, statement: Statement, word: str) -> bool:
        return self.flow.kernel.register(statement.scope, word) is not None

    def _guard(self, values: dict[str, Values], statement: Statement) -> Values:
        return self._read(values, statement, statement.guard or "")

    def _step(self, values: dict[str, Values], statement: Statement) -> None:
        """Change the values before a statement to those behind it."""
        writes = self.flow.effects[statement.index].writes
        if not writes:
            return
        result = self._result(values, statement)
        guard = self._guard(values, statement) if statement.guard else None
        for register in sorted(writes):
            part = tuple(self._number("part", register, number) for number in result) if len(writes) > 1 else result
            if guard is not None:
                old = values.get(register) or self._coming_in(register)
                part = tuple(
                    self._number("if", statement.negated, *choice) for choice in zip(guard, part, old, strict=True)
                )
            values[register] = part
            if register in self._once:
                self._fixed[register] = part

    def _result(self, values: dict[str, Values], statement: Statement) -> Values:
        if statement.opcode == "shfl":
            return self._shuffle(values, statement)
        if statement.opcode in ("vote", "redux", "activemask"):
            return (self._number("warp", statement.index),) * LANES
        if statement.opcode in ("atom", "call", "match"):
            return tuple(self._number("lane", statement.index, lane) for lane in range(LANES))
        operands = [self._read(values, statement, operand) for operand in statement.operands[1:]]
        # Most lanes compute the same of the same operands.
        of_lanes = [tuple(each[lane] for each in operands) for lane in range(LANES)]
        found = {each: self._compute(statement, list(each)) for each in dict.fromkeys(of_lanes)}
        return tuple(found[each] for each in of_lanes)

    def _shuffle(self, values: dict[str, Values], statement: Statement) -> Values:
        taken = self._read(values, statement, statement.operands[1])
        if len(set(taken)) == 1:
            return taken
        try:
            return tuple(taken[lane] for lane in sources(statement.mnemonic, statement.operands))
        except ValueError:
            return self._shuffle_by_register(values, statement, taken)

    def _shuffle_by_register(self, values: dict[str, Values], statement: Statement, taken: Values) -> Values:
        lanes = self._read(values, statement, statement.operands[2])
        how = (statement.mnemonic, *statement.operands[2:])
        result = [self._number("lane", statement.index, *how, lane, lanes[lane]) for lane in range(LANES)]
        if statement.operands[3] == "31" and statement.operands[4] in _WHOLE_WARP:
            # By its low five bits, `idx` names the lane itself; counted from lane 0, so do two other modes.
            by_number = {"idx": range(LANES), "bfly": range(1), "down": range(1)}
            for lane in by_number.get(statement.parts[2], ()):
                result[lane] = self._number("lane of", taken, lanes[lane])
        return tuple(result)

    def _compute(self, statement: Statement, operands: list[int]) -> int:
        folded = self._folded(statement, operands)
        if folded is not None:
            return folded
        if statement.opcode in _COMMUTATIVE and len(operands) >= 2:
            operands = [*sorted(operands[:2]), *operands[2:]]
        if statement.opcode in ("ld", "ldu"):
            # All lanes read at once: the same address has the same value, at this statement.
            return self._number("ld", statement.index, *operands)
        return self._number(statement.mnemonic, *operands)

    def _folded(self, statement: Statement, operands: list[int]) -> int | None:
        """Compute what depends on the lane alone."""
        if statement.opcode == "mov" and len(operands) == 1:
            return operands[0]
        if statement.opcode == "selp":
            chosen = self._constant(operands[2])
            return None if chosen is None else operands[0 if chosen else 1]
        if statement.opcode in ("add", "sub") and statement.parts[-1] in _WHOLE_NUMBERS:
            return operands[0] if self._constant(operands[1]) == 0 else None
        if statement.opcode in ("and", "setp", "shr") and len(operands) == 2:
            return self._folded_pair(statement, operands, [self._constant(operand) for operand in operands])
        return None

    def _folded_pair(self, statement: Statement, operands: list[int], numbers: list[int | None]) -> int | None:
        kind, *rest = self._meanings[operands[0]]
        if (
            statement.opcode == "setp"
            and statement.parts[1] in ("eq", "ne")
            and numbers[1] == 0
            and self._not_zero(kind, rest)
        ):
            return self._number("constant", int(statement.parts[1] == "ne"))
        if kind == "thread" and isinstance(rest[0], int):
            # A warp is 32 threads in a row, the first a multiple of 32.
            if statement.opcode == "and" and numbers[1] == LANES - 1:
                return self._number("constant", rest[0])
            if statement.opcode == "shr" and numbers[1] is not None and numbers[1] >= 5:
                return self._number("warp of", numbers[1])
        if numbers[0] is None or numbers[1] is None:
            return None
        value = _value_of_pair(statement, numbers[0], numbers[1])
        return None if value is None else self._number("constant", value)

    def _not_zero(self, kind: object, operands: list[object]) -> bool:
        """Tell whether an expression is a union of bits with some that are known to be set."""
        constants = [self._constant(each) for each in operands if isinstance(each, int)]
        return kind == "or.b32" and any(each is not None and each != 0 for each in constants)


def _value_of_pair(statement: Statement, a: int, b: int) -> int | None:
    if min(a, b) < 0:
        return None
    if statement.opcode == "setp" and statement.parts[-1] in ("u32", "s32", "b32"):
        found = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
        return int(found[statement.parts[1]]) if statement.parts[1] in found else None
    if statement.opcode == "and":
        return a & b
    if statement.opcode == "shr" and b < 32:
        return a >> b
    return None


def _meet(a: Values, b: Values) -> Values:
    """Return the classes of lanes that are the same in both, numbered by their first lane."""
    pairs = list(zip(a, b, strict=True))
    return tuple(pairs.index(pair) for pair in pairs)


@lru_cache(maxsize=64)
def lanes_of(flow: Flow) -> Lanes:
    """Return the analysis of a kernel, made once."""
    return Lanes(flow)
