"""What the bounds of registers decide: branches never taken, guards always true, comparisons that say the same.

All of these rest on `diffcheck.selftest.generated.ranges`, which is an analysis of the kernel without the mutant: what
it says before a statement holds for the mutant up to the changed statement, and behind it as long as the statement does
what it did.
"""

from __future__ import annotations

from collections.abc import Callable

from diffcheck.selftest.generated.comparison import Comparison, comparison_of
from diffcheck.selftest.generated.equivalence.base import rule
from diffcheck.selftest.generated.interval import WIDEST, Interval, constant
from diffcheck.selftest.generated.population import GeneratedMutant
from diffcheck.selftest.generated.ptx_text import Statement, reread
from diffcheck.selftest.generated.ranges import State, operand_of, ranges_of

# Values of one register that are tried one by one.
_FEW = 4096


def _state(mutant: GeneratedMutant) -> State | None:
    return ranges_of(mutant.subject.flow).before(mutant.statement.index)


def _truth(mutant: GeneratedMutant, state: State, statement: Statement) -> bool | None:
    """Return whether a statement is done at all; None where that depends."""
    if statement.guard is None:
        return True
    name = mutant.subject.flow.kernel.register(statement.scope, statement.guard)
    value = None if name is None else state.truth(name)
    return None if value is None else value is not statement.negated


@rule("never executed")
def never_executed(mutant: GeneratedMutant) -> bool:
    """No path leads to the statement, or its guard is false whenever one does, and the mutant keeps that guard.

    An exchange moves two statements, so it is left to the rule of neighbours.
    """
    if mutant.operator.name == "exchange":
        return False
    state, statement = _state(mutant), mutant.statement
    if state is None:
        return True
    changed = reread(statement, mutant.change.text)
    same_guard = changed is None or (changed.guard, changed.negated) == (statement.guard, statement.negated)
    return _truth(mutant, state, statement) is False and (same_guard or not mutant.change.text)


@rule("same guard")
def same_guard(mutant: GeneratedMutant) -> bool:
    """The guard, the one in its place, or having none decides the same: each is known to be true, or to be false."""
    if not mutant.operator.name.startswith("guard-"):
        return False
    state, changed = _state(mutant), reread(mutant.statement, mutant.change.text)
    if state is None or changed is None:
        return False
    before, after = _truth(mutant, state, mutant.statement), _truth(mutant, state, changed)
    return before is not None and before is after


@rule("same comparison")
def same_comparison(mutant: GeneratedMutant) -> bool:
    """The comparison before and after the change says the same of every value that its registers can have here.

    Both are decided by the bounds of what they compare, or both are tried on each value where one register of at most
    4,096 values is compared with constants. The result goes to the same predicate under the same guard.
    """
    statement, changed = mutant.statement, reread(mutant.statement, mutant.change.text)
    state = _state(mutant)
    if state is None or changed is None or changed.operands[:1] != statement.operands[:1]:
        return False
    if (changed.guard, changed.negated) != (statement.guard, statement.negated):
        return False
    kernel = mutant.subject.flow.kernel
    old, new = comparison_of(kernel, statement), comparison_of(kernel, changed)
    return old is not None and new is not None and _agree(state, old, new)


def _agree(state: State, old: Comparison, new: Comparison) -> bool:
    if state.holds(old) is not None and state.holds(old) is state.holds(new):
        return True
    registers = {operand for made in (old, new) for operand in (made.a, made.b) if isinstance(operand, str)}
    if len(registers) != 1:
        return False
    (register,) = registers
    bounds = state.value(register)
    if bounds.high - bounds.low >= _FEW:
        return False

    def says(value: int) -> bool:
        point = State({**state.values, register: Interval(value, value)})
        return point.holds(old) is not None and point.holds(old) is point.holds(new)

    return all(says(value) for value in range(bounds.low, bounds.high + 1))


@rule("no sign to tell")
def no_sign(mutant: GeneratedMutant) -> bool:
    """No operand is negative as a signed number, so that it is the same number with and without a sign.

    Shifts to the right, minima, maxima, comparisons, products of double width and conversions to more bits then give
    the same result for both types.
    """
    statement = mutant.statement
    if mutant.operator.name != "sign" or statement.parts[-1] not in ("u32", "s32", "u64", "s64"):
        return False
    state = _state(mutant)
    count = {"shr": 1, "cvt": 1}.get(statement.opcode, 2)
    return state is not None and all(
        _value(mutant, state, operand).positive for operand in statement.operands[1 : 1 + count]
    )


@rule("same number")
def same_number(mutant: GeneratedMutant) -> bool:
    """The bits of a register and a constant are the same before and after the change, for each value it can have here.

    All of at most 4,096 values are tried, none of them negative. The result goes to the same register under the same
    guard.
    """
    statement, changed = mutant.statement, reread(mutant.statement, mutant.change.text)
    state = _state(mutant)
    if state is None or changed is None or len(statement.operands) != 3 or len(changed.operands) != 3:
        return False
    alike = (changed.prefix, changed.operands[:2]) == (statement.prefix, statement.operands[:2])
    bounds = _value(mutant, state, statement.operands[1])
    constants = [constant(made.operands[2]) for made in (statement, changed)]
    if not alike or None in constants or not bounds.positive or bounds.high - bounds.low >= _FEW:
        return False
    old, new = (_BITS.get(made.mnemonic) for made in (statement, changed))
    if old is None or new is None:
        return False
    a, b = (number or 0 for number in constants)
    return all((old(value, a) ^ new(value, b)) & 0xFFFFFFFF == 0 for value in range(bounds.low, bounds.high + 1))


_BITS: dict[str, Callable[[int, int], int]] = {
    "and.b32": lambda value, number: value & number,
    "or.b32": lambda value, number: value | number,
    "xor.b32": lambda value, number: value ^ number,
}


@rule("holds it already")
def holds_it_already(mutant: GeneratedMutant) -> bool:
    """A copy is left out, made from another register or to another one, and changes nothing either way.

    What is copied is one known number. Left out: the result holds it already. From another register: that one holds it
    too. To another register: both hold it already.
    """
    statement = mutant.statement
    state = _state(mutant)
    if statement.opcode != "mov" or statement.guard or state is None or len(statement.operands) != 2:
        return False
    changed = reread(statement, mutant.change.text)
    to, source = statement.operands
    others = {
        "drop": (to,),
        "register": ((changed or statement).operands[1],),
        "result": (to, (changed or statement).operands[0]),
    }
    if mutant.operator.name not in others:
        return False
    wanted = _value(mutant, state, source)
    held = [_value(mutant, state, other) for other in others[mutant.operator.name]]
    return wanted.low == wanted.high and all(value == wanted for value in held)


@rule("the other choice")
def other_choice(mutant: GeneratedMutant) -> bool:
    """Only the value that a selection never takes is another: its predicate is known."""
    statement, changed = mutant.statement, reread(mutant.statement, mutant.change.text)
    state = _state(mutant)
    if statement.opcode != "selp" or state is None or changed is None or changed.mnemonic != statement.mnemonic:
        return False
    name = mutant.subject.flow.kernel.register(statement.scope, statement.operands[3])
    truth = None if name is None else state.truth(name)
    if truth is None or len(changed.operands) != 4:
        return False
    never = 2 if truth else 1
    differs = [at for at in range(4) if changed.operands[at] != statement.operands[at]]
    return differs == [never]


@rule("copies nothing")
def copies_nothing(mutant: GeneratedMutant) -> bool:
    """A copy in the background of 0 bytes fills its place with zeros and does not read its source, whatever that is."""
    statement, changed = mutant.statement, reread(mutant.statement, mutant.change.text)
    state = _state(mutant)
    if (
        state is None
        or changed is None
        or not statement.mnemonic.startswith("cp.async.c")
        or len(statement.operands) != 4
    ):
        return False
    if _value(mutant, state, statement.operands[3]) != Interval(0, 0) or len(changed.operands) != 4:
        return False
    differs = [at for at in range(4) if changed.operands[at] != statement.operands[at]]
    return (changed.guard, changed.negated) == (statement.guard, statement.negated) and differs == [1]


def _value(mutant: GeneratedMutant, state: State, operand: str) -> Interval:
    read = operand_of(mutant.subject.flow, mutant.statement, operand)
    return WIDEST if read is None else state.value(read)
