"""What atomic operations make of a place. Rules of whole tests: they know the outputs that the template has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from diffcheck.opcodes.definitions.arithmetic import arithmetic
from diffcheck.opcodes.definitions.nan import is_nan
from diffcheck.opcodes.definitions.rows import each, low
from diffcheck.opcodes.fields import Bits, Columns
from diffcheck.opcodes.operands.formats import FORMATS
from diffcheck.opcodes.probe import Probe
from py_builder_kernel.ptx.dtype import DTYPES, DType
from py_builder_kernel.ptx.table import Bound, bind

_OPERATIONS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda old, b: old + b,
    "and": lambda old, b: old & b,
    "or": lambda old, b: old | b,
    "xor": lambda old, b: old ^ b,
    "min": min,
    "max": max,
    "inc": lambda old, b: 0 if old >= b else old + 1,
    "dec": lambda old, b: b if old == 0 or old > b else old - 1,
    "exch": lambda _old, b: b,
}


def covers(_bound: Bound) -> bool:
    """All of them."""
    return True


def _added(dtype: DType, space: str, old: Bits, given: Bits) -> Bits:
    """The sum of floats, to the nearest; PTX ISA, `atom`: in global memory f32 takes denormal numbers as zeros.

    Which NaN a sum of f64 is: `definitions.nan`.
    """
    ftz = ".ftz" if dtype.name == "f32" and space == "g" else ""
    (total,) = arithmetic(bind(f"add.rn{ftz}.{dtype.name}")[0], given, old)
    return each(_kept, old, given, total) if dtype.name == "f64" and space == "g" else total


def _kept(old: int, given: int, total: int) -> int:
    """Of a sum of f64 in global memory, the NaN that stays as it is, if there is one."""
    return next((bits for bits in (given, old) if is_nan(FORMATS["f64"], bits)), total)


def _whole(dtype: DType, op: str, old: Bits, given: Bits) -> Bits:
    sign = 1 << (dtype.bits - 1) if dtype.kind == "s" else 0
    pairs = zip(old.tolist(), given.tolist(), strict=True)
    # The signed reading of a number: bits from the sign on count downwards.
    results = [_OPERATIONS[op](*((value ^ sign) - sign for value in pair)) for pair in pairs]
    return np.array([result & (2**dtype.bits - 1) for result in results], np.uint64)


def atomic(probe: Probe) -> Columns:
    """`atom` and `red`: what each part of the place held (outputs o), and what it holds (outputs n)."""
    dtype, op = DTYPES[probe.bound.words["type"]], probe.bound.words["op"]
    found = {}
    for field in probe.body.outputs:
        kind, space, part = field.name[0], field.name[1], field.name[2:]
        old, given = low(probe.columns[f"a{part}"], dtype.bits), low(probe.columns[f"b{part}"], dtype.bits)
        if kind == "o":
            found[field.name] = old
        elif op == "cas":
            found[field.name] = np.where(old == low(probe.columns["c0"], dtype.bits), given, old)
        elif dtype.kind in "usb":
            found[field.name] = _whole(dtype, op, old, given)
        else:
            found[field.name] = _added(dtype, space, old, given)
    return found


RULES: Final[Mapping[str, Callable[[Probe], Columns]]] = {"atom": atomic, "red": atomic}
