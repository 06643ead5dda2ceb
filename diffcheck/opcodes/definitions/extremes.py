"""`min`, `max`, `abs` and `neg` of floats (PTX ISA, "Floating-Point Instructions" and "Half Precision")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final

from diffcheck.opcodes.definitions.arithmetic import flushed
from diffcheck.opcodes.definitions.nan import is_nan, nan_of
from diffcheck.opcodes.definitions.rows import Rule, each
from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.operands.formats import FORMATS, PAIRS, FloatFormat
from py_builder_kernel.ptx.table import Bound


def _rank(fmt: FloatFormat, bits: int) -> int:
    """A place in the order of numbers, in which -0 comes before +0."""
    return -(bits & (fmt.sign - 1)) - 1 if bits & fmt.sign else bits


def _better(fmt: FloatFormat, opcode: str, wants_nan: bool) -> Callable[[int, int], int]:
    """The smaller or larger of two; of a number and NaN, the number, unless NaN is wanted."""
    choose = min if opcode == "min" else max

    def pick(a: int, b: int) -> int:
        nans = [is_nan(fmt, a), is_nan(fmt, b)]
        if all(nans) or (any(nans) and wants_nan):
            return nan_of(fmt, opcode, (a, b))
        if any(nans):
            return b if nans[0] else a
        return choose((a, b), key=lambda bits: _rank(fmt, bits))

    return pick


def extreme(bound: Bound, *operands: Bits) -> tuple[Bits, ...]:
    """`min` and `max` of two or three; `.abs` of magnitudes; `.xorsign.abs` with the product's sign."""
    name = bound.words["type"]
    fmt = FORMATS[PAIRS.get(name, name)]
    words = bound.words
    pick = _better(fmt, bound.form.opcode, "nan" in words)

    def one(*given: int) -> int:
        values = [flushed(fmt, bits) for bits in given] if "ftz" in words else list(given)
        sizes = [bits & (fmt.sign - 1) for bits in values] if "abs" in words else values
        result = reduce(pick, sizes)
        if "xorsign" in words and not is_nan(fmt, result):
            result |= reduce(lambda a, b: a ^ b, values) & fmt.sign
        return result

    return (each(one, *operands, halves=fmt.bits if name in PAIRS else 0),)


def _sign(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """`abs` and `neg`, which change the sign alone; of NaN, see `nan_of`."""
    name = bound.words["type"]
    fmt = FORMATS[PAIRS.get(name, name)]

    def one(bits: int) -> int:
        if "ftz" in bound.words:
            bits = flushed(fmt, bits)
        if is_nan(fmt, bits):
            return nan_of(fmt, bound.form.opcode, (bits,))
        return bits & (fmt.sign - 1) if bound.form.opcode == "abs" else bits ^ fmt.sign

    return (each(one, a, halves=fmt.bits if name in PAIRS else 0),)


RULES: Final[Mapping[str, Rule]] = {"min": extreme, "max": extreme, "abs": _sign, "neg": _sign}


def covers(bound: Bound) -> bool:
    """Forms of floats."""
    name = bound.words["type"]
    return PAIRS.get(name, name) in FORMATS
