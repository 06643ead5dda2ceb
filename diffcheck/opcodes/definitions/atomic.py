"""What atomic operations on whole numbers and bits make of a place. Sums of floats have no definition here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from diffcheck.opcodes.definitions.rows import low
from diffcheck.opcodes.fields import Columns
from diffcheck.opcodes.probe import Probe
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

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


def covers(bound: Bound) -> bool:
    """Whether the operation is on whole numbers or bits."""
    return DTYPES[bound.words["type"]].kind in "usb"


def atomic(probe: Probe) -> Columns:
    """`atom` and `red`: what the place held, and what it holds."""
    dtype, op = DTYPES[probe.bound.words["type"]], probe.bound.words["op"]
    old, given = low(probe.columns["a0"], dtype.bits), low(probe.columns["b0"], dtype.bits)
    if op == "cas":
        new = np.where(old == low(probe.columns["c0"], dtype.bits), given, old)
    else:
        sign = 1 << (dtype.bits - 1) if dtype.kind == "s" else 0
        pairs = zip(old.tolist(), given.tolist(), strict=True)
        # The signed reading of a number: bits from the sign on count downwards.
        results = [_OPERATIONS[op](*((value ^ sign) - sign for value in pair)) for pair in pairs]
        new = np.array([result & (2**dtype.bits - 1) for result in results], np.uint64)
    return {field.name: new if field.name.startswith("n") else old for field in probe.body.outputs}


RULES: Final[Mapping[str, Callable[[Probe], Columns]]] = {"atom": atomic, "red": atomic}
