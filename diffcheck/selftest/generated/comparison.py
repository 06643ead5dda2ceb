"""Comparisons of whole numbers: what they must say of intervals, and what they say about what was compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffcheck.selftest.generated.interval import Interval, constant
from diffcheck.selftest.generated.ptx_text import Kernel, Statement

_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_MIRRORED = {"gt": "lt", "ge": "le"}


@dataclass(frozen=True)
class Comparison:
    """`a RELATION b` of registers and constants of 32 bits, as signed numbers or not."""

    relation: str
    signed: bool
    a: str | int
    b: str | int

    def negated(self) -> Comparison:
        """Return the comparison that says the opposite."""
        return replace(self, relation=_NEGATED[self.relation])

    def holds(self, a: Interval, b: Interval) -> bool | None:
        """Return what the comparison says of any two numbers of two intervals; None where it depends on them."""
        relation = self.relation
        if relation in _MIRRORED:
            a, b, relation = b, a, _MIRRORED[relation]
        if relation in ("eq", "ne"):
            equal = True if a.low == a.high == b.low == b.high else False if a.high < b.low or b.high < a.low else None
            return equal if relation == "eq" or equal is None else not equal
        if not self.signed and not (a.positive and b.positive):
            return self._holds_unsigned(a, b)
        if relation == "lt":
            return True if a.high < b.low else False if a.low >= b.high else None
        return True if a.high <= b.low else False if a.low > b.high else None

    @staticmethod
    def _holds_unsigned(a: Interval, b: Interval) -> bool | None:
        # Without a sign, negative numbers are above all others.
        if a.positive and b.high < 0:
            return True
        if a.high < 0 and b.positive:
            return False
        return None

    def narrow(self, a: Interval, b: Interval) -> tuple[Interval, Interval] | None:
        """Return what is left of two intervals where the comparison holds; None where nothing is."""
        if self.relation in _MIRRORED:
            turned = Comparison(_MIRRORED[self.relation], self.signed, self.b, self.a).narrow(b, a)
            return None if turned is None else (turned[1], turned[0])
        if self.holds(a, b) is False:
            return None
        if self.relation == "eq":
            both = Interval(max(a.low, b.low), min(a.high, b.high))
            return both, both
        if self.relation == "ne":
            return _without(a, b), _without(b, a)
        if not self.signed and not (a.positive and b.positive):
            if not b.positive:
                return a, b
            # Below a number that is not negative lies, without a sign, no negative one.
            a = Interval(max(a.low, 0), a.high)
        gap = 1 if self.relation == "lt" else 0
        left = Interval(a.low, min(a.high, b.high - gap)), Interval(max(b.low, a.low + gap), b.high)
        return None if left[0].low > left[0].high or left[1].low > left[1].high else left


def _without(a: Interval, b: Interval) -> Interval:
    """Drop a single number from the end of an interval."""
    if b.low == b.high and a.low < a.high:
        if a.low == b.low:
            return Interval(a.low + 1, a.high)
        if a.high == b.low:
            return Interval(a.low, a.high - 1)
    return a


def comparison_of(kernel: Kernel, statement: Statement) -> Comparison | None:
    """Return the comparison that a statement makes; None for one of other types, or no comparison at all."""
    if statement.opcode != "setp" or len(statement.parts) != 3 or len(statement.operands) != 3:
        return None
    _, relation, kind = statement.parts
    aliases = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    relation = aliases.get(relation, relation)
    if relation not in _NEGATED or kind not in ("u32", "s32", "b32"):
        return None
    operands: list[str | int] = []
    for operand in statement.operands[1:]:
        register = kernel.register(statement.scope, operand)
        read = register if register is not None else constant(operand)
        if read is None:
            return None
        operands.append(read)
    return Comparison(relation, kind == "s32", operands[0], operands[1])
