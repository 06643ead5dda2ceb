"""What a definition works on: a column for each operand, in the order of the form; one column for each result.

Columns hold bits. `signed` and `unsigned` make exact integers of them, of any size; `wrapped` makes bits again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from diffcheck.opcodes.fields import Bits
from py_builder_kernel.ptx.dtype import DType
from py_builder_kernel.ptx.table import Bound

# Operands' columns to results' columns, all results of the form, also those that an instruction may leave out.
Rule = Callable[..., tuple[Bits, ...]]
# Python integers in an array: arithmetic on them neither wraps nor rounds.
Integers = npt.NDArray[np.object_]

_WORD = np.uint64(2**64 - 1)


def low(column: Bits, bits: int) -> Bits:
    """The low bits of a column."""
    return np.asarray(column & np.uint64(2**bits - 1))


def unsigned(column: Bits, bits: int) -> Integers:
    """Bits as integers from 0."""
    return low(column, bits).astype(object)


def signed(column: Bits, bits: int) -> Integers:
    """Bits as integers in two's complement."""
    integers = unsigned(column, bits)
    return np.where(integers >> (bits - 1) != 0, integers - (1 << bits), integers)


def integers(column: Bits, dtype: DType) -> Integers:
    """Bits as the integers of a type."""
    return signed(column, dtype.bits) if dtype.kind == "s" else unsigned(column, dtype.bits)


def wrapped(values: Integers, bits: int) -> Bits:
    """Integers modulo a power of two."""
    return np.asarray(values & ((1 << bits) - 1), object).astype(np.uint64)


def clamped(values: Integers, dtype: DType) -> Integers:
    """Integers held in the range of a type."""
    least, most = limits(dtype)
    return np.minimum(np.maximum(values, least), most)


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the largest integer of a type."""
    if dtype.kind == "s":
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def extended(dtype: DType, column: Bits) -> Bits:
    """A value of 8 bits in its register of 32: with zeros, or the sign of a signed type, above it."""
    if dtype.bits != 8 or dtype.kind != "s":
        return column
    return np.where(column >> np.uint64(7) != 0, column | np.uint64(0xFFFFFF00), column)


def each(function: Callable[..., int], *columns: Bits, halves: int = 0) -> Bits:
    """A function of integers row by row; with `halves`, on the low and the high so many bits apart."""
    if halves:
        below = each(function, *(low(column, halves) for column in columns))
        above = each(function, *(column >> np.uint64(halves) for column in columns))
        return np.asarray(below | above << np.uint64(halves))
    rows: Any = zip(*(column.tolist() for column in columns), strict=True)
    return np.fromiter((function(*row) for row in rows), np.uint64, len(columns[0]))


def in_halves(rule: Rule, bound: Bound, bits: int, *columns: Bits) -> tuple[Bits, ...]:
    """A rule on the low and the high so many bits of every column."""
    below = rule(bound, *(low(column, bits) for column in columns))
    above = rule(bound, *(low(column >> np.uint64(bits), bits) for column in columns))
    return tuple(np.asarray(a | b << np.uint64(bits)) for a, b in zip(below, above, strict=True))
