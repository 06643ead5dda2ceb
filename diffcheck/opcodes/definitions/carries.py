"""Carry chains (PTX ISA, "Extended-Precision Integer Arithmetic Instructions"): the carry is bit n of the exact result;
of a subtraction it is the borrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from diffcheck.opcodes.definitions.rows import Integers, Rule, integers, low, unsigned, wrapped
from diffcheck.opcodes.fields import Bits
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound


def _split(bound: Bound, exact: Integers, bits: int) -> tuple[Bits, Bits]:
    return wrapped(exact, bits), (exact >> bits & 1).astype(np.uint64)


def add(bound: Bound, a: Bits, b: Bits, carry: Bits) -> tuple[Bits, ...]:
    """a + b (+ carry), and the carry."""
    bits = DTYPES[bound.words["type"]].bits
    taken = unsigned(carry, 32) if bound.form.opcode.endswith("c") else 0
    return _split(bound, unsigned(a, bits) + unsigned(b, bits) + taken, bits)


def sub(bound: Bound, a: Bits, b: Bits, carry: Bits) -> tuple[Bits, ...]:
    """a - b (- borrow), and the borrow."""
    bits = DTYPES[bound.words["type"]].bits
    taken = unsigned(carry, 32) if bound.form.opcode.endswith("c") else 0
    return _split(bound, unsigned(a, bits) - unsigned(b, bits) - taken, bits)


def mad(bound: Bound, a: Bits, b: Bits, c: Bits, carry: Bits) -> tuple[Bits, ...]:
    """A half of a * b, plus c (+ carry), and the carry."""
    dtype = DTYPES[bound.words["type"]]
    full = integers(a, dtype) * integers(b, dtype)
    half = unsigned(wrapped(full >> (dtype.bits if bound.words["half"] == "hi" else 0), dtype.bits), dtype.bits)
    taken = unsigned(carry, 32) if bound.form.opcode.endswith("c") else 0
    return _split(bound, half + unsigned(c, dtype.bits) + taken, dtype.bits)


def left(opcode: str, carry: Bits) -> Bits:
    """What the next link makes of a carry with two zeros."""
    return low(np.uint64(0) - carry, 32) if opcode.startswith("sub") else carry


RULES: Final[Mapping[str, Rule]] = {"add": add, "addc": add, "sub": sub, "subc": sub, "mad": mad, "madc": mad}


def covers(bound: Bound) -> bool:
    """Forms that take or leave a carry."""
    return "cc" in bound.words or bound.form.opcode in ("addc", "subc", "madc")
