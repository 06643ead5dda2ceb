"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions"): exact, then wrapped, or clamped with `.sat`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from diffcheck.opcodes.definitions.rows import Integers, Rule, clamped, in_halves, integers, signed, wrapped
from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.operands.formats import PAIRS
from py_builder_kernel.ptx.dtype import DTYPES, DType
from py_builder_kernel.ptx.table import Bound


def _type(bound: Bound) -> DType:
    return DTYPES[bound.words["type"]]


def _single(bound: Bound) -> Bound:
    """The form for one of the two numbers of a register."""
    return Bound(bound.mnemonic, bound.form, {**bound.words, "type": PAIRS[bound.words["type"]]})


def _finished(bound: Bound, values: Integers, bits: int) -> tuple[Bits, ...]:
    if "sat" in bound.words:
        values = clamped(values, _type(bound))
    return (wrapped(values, bits),)


def add(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """a + b."""
    dtype = _type(bound)
    if dtype.kind == "x2":
        return in_halves(add, _single(bound), 16, a, b)
    return _finished(bound, integers(a, dtype) + integers(b, dtype), dtype.bits)


def sub(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """a - b."""
    dtype = _type(bound)
    return _finished(bound, integers(a, dtype) - integers(b, dtype), dtype.bits)


def part_of_product(bound: Bound, a: Bits, b: Bits) -> tuple[Integers, int]:
    """The half of the product that a form names, or all of it, and its width."""
    dtype = _type(bound)
    full = integers(a, dtype) * integers(b, dtype)
    half = bound.words.get("half", "lo")
    if half == "wide":
        return full, 2 * dtype.bits
    return full >> (dtype.bits if half == "hi" else 0), dtype.bits


def mul(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """A part of a * b."""
    return (wrapped(*part_of_product(bound, a, b)),)


def mad(bound: Bound, a: Bits, b: Bits, c: Bits) -> tuple[Bits, ...]:
    """A part of a * b, plus c."""
    part, bits = part_of_product(bound, a, b)
    dtype = _type(bound)
    wide = DType(dtype.name, bits, dtype.kind)
    return _finished(bound, part + integers(c, wide), bits)


def _product_24(bound: Bound, a: Bits, b: Bits) -> Integers:
    """Bits 0 … 31 or 16 … 47 of the product of two 24-bit numbers."""
    short = DType("24", 24, _type(bound).kind)
    full = integers(a, short) * integers(b, short)
    kept = wrapped(full >> (16 if bound.words["half"] == "hi" else 0), 32)
    return integers(kept, _type(bound))


def mul24(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """A part of the product of 24-bit numbers."""
    return (wrapped(_product_24(bound, a, b), 32),)


def mad24(bound: Bound, a: Bits, b: Bits, c: Bits) -> tuple[Bits, ...]:
    """The same, plus c."""
    return _finished(bound, _product_24(bound, a, b) + integers(c, _type(bound)), 32)


def _divided(bound: Bound, a: Bits, b: Bits) -> tuple[Integers, Integers]:
    """Quotient towards zero and remainder with the sign of a; both 0 where b is 0, which PTX leaves open."""
    dtype = _type(bound)
    x, y = integers(a, dtype), integers(b, dtype)
    safe = np.where(y == 0, 1, y)
    size = np.abs(x) // np.abs(safe)
    ratio = np.where((x < 0) != (safe < 0), -size, size)
    return np.where(y == 0, 0, ratio), np.where(y == 0, 0, x - ratio * safe)


def div(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """a / b towards zero."""
    return (wrapped(_divided(bound, a, b)[0], _type(bound).bits),)


def rem(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """What a / b towards zero leaves."""
    return (wrapped(_divided(bound, a, b)[1], _type(bound).bits),)


def magnitude(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """`abs`; that of the least integer is itself."""
    dtype = _type(bound)
    return (wrapped(np.abs(integers(a, dtype)), dtype.bits),)


def neg(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """-a."""
    dtype = _type(bound)
    return (wrapped(-integers(a, dtype), dtype.bits),)


def sad(bound: Bound, a: Bits, b: Bits, c: Bits) -> tuple[Bits, ...]:
    """c + |a - b|."""
    dtype = _type(bound)
    return (wrapped(integers(c, dtype) + np.abs(integers(a, dtype) - integers(b, dtype)), dtype.bits),)


def _extreme(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """`min` and `max`; `.relu` makes a negative result 0."""
    dtype = _type(bound)
    if dtype.kind == "x2":
        return in_halves(_extreme, _single(bound), 16, a, b)
    choose = np.minimum if bound.form.opcode == "min" else np.maximum
    values = choose(integers(a, dtype), integers(b, dtype))
    return (wrapped(np.maximum(values, 0) if "relu" in bound.words else values, dtype.bits),)


def _slices(column: Bits, count: int, kind: str, size: int) -> list[Integers]:
    part = DType("part", size, kind)
    return [integers(column >> np.uint64(size * index), part) for index in range(count)]


def dp4a(bound: Bound, a: Bits, b: Bits, c: Bits) -> tuple[Bits, ...]:
    """c plus the products of four pairs of bytes."""
    first = _slices(a, 4, DTYPES[bound.words["atype"]].kind, 8)
    second = _slices(b, 4, DTYPES[bound.words["btype"]].kind, 8)
    return (wrapped(sum((x * y for x, y in zip(first, second, strict=True)), signed(c, 32)), 32),)


def dp2a(bound: Bound, a: Bits, b: Bits, c: Bits) -> tuple[Bits, ...]:
    """c plus the products of two halves of a and the two low or high bytes of b."""
    first = _slices(a, 2, DTYPES[bound.words["atype"]].kind, 16)
    chosen = b >> np.uint64(16 if bound.words["half"] == "hi" else 0)
    second = _slices(chosen, 2, DTYPES[bound.words["btype"]].kind, 8)
    return (wrapped(sum((x * y for x, y in zip(first, second, strict=True)), signed(c, 32)), 32),)


RULES: Final[Mapping[str, Rule]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "mad": mad,
    "mul24": mul24,
    "mad24": mad24,
    "div": div,
    "rem": rem,
    "abs": magnitude,
    "neg": neg,
    "sad": sad,
    "min": _extreme,
    "max": _extreme,
    "dp4a": dp4a,
    "dp2a": dp2a,
}


def covers(bound: Bound) -> bool:
    """Whether a form is one of them, a carry aside."""
    kinds = {DTYPES[word].kind for slot, word in bound.words.items() if slot in ("type", "atype")}
    return "cc" not in bound.words and (kinds <= {"u", "s"} or bound.words.get("type") in ("u16x2", "s16x2"))
