"""Operations on bits (PTX ISA, "Logic and Shift Instructions" and the bit instructions among the integer ones)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from diffcheck.opcodes.definitions.rows import Rule, each, low
from diffcheck.opcodes.fields import Bits
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

_WORD: Final = 2**32 - 1
_NONE: Final = _WORD


def _bits(bound: Bound) -> int:
    return DTYPES[bound.words["type"]].bits


def _is_signed(bound: Bound) -> bool:
    return DTYPES[bound.words["type"]].kind == "s"


def _bitwise(function: Callable[..., Bits]) -> Rule:
    def rule(bound: Bound, *operands: Bits) -> tuple[Bits, ...]:
        return (low(np.asarray(function(*operands), np.uint64), _bits(bound)),)

    return rule


def lop3(bound: Bound, *operands: Bits) -> tuple[Bits, ...]:
    """Bit by bit, the entry of an 8-entry table that three bits number; with `.and` or `.or`, whether any is set, and
    a predicate, which is the last operand."""
    a, b, c, table, *last = operands
    result = np.zeros_like(a)
    for row in range(8):
        chosen = [column if row >> place & 1 else ~column for column, place in ((a, 2), (b, 1), (c, 0))]
        filled = np.where(table >> np.uint64(row) & np.uint64(1), np.uint64(_WORD), np.uint64(0))
        result |= chosen[0] & chosen[1] & chosen[2] & filled
    result = low(result, 32)
    if not last:
        return (result,)
    some = (result != 0).astype(np.uint64)
    return result, some & last[0] if bound.words["bool"] == "and" else some | last[0]


def mov(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """a as it is; a number as a predicate is true where it is not 0."""
    if bound.form.operands[-1].startswith("imm"):
        return ((a != 0).astype(np.uint64),)
    return (low(a, _bits(bound)),)


def shl(bound: Bound, a: Bits, count: Bits) -> tuple[Bits, ...]:
    """a to the left; what leaves the register is lost, however far."""
    bits = _bits(bound)
    return (each(lambda x, n: x << min(n, bits) & ((1 << bits) - 1), low(a, bits), low(count, 32)),)


def shr(bound: Bound, a: Bits, count: Bits) -> tuple[Bits, ...]:
    """a to the right; a signed type fills with its sign."""
    bits = _bits(bound)
    sign = _is_signed(bound)

    def one(x: int, n: int) -> int:
        value = x - (1 << bits) if sign and x >> (bits - 1) else x
        return value >> min(n, bits) & ((1 << bits) - 1)

    return (each(one, low(a, bits), low(count, 32)),)


def shf(bound: Bound, a: Bits, b: Bits, count: Bits) -> tuple[Bits, ...]:
    """The high word of b:a to the left, or its low word to the right, by 32 at most or by the low five bits."""
    left, wrap = bound.words["side"] == "l", bound.words["mode"] == "wrap"

    def one(x: int, y: int, n: int) -> int:
        n = n & 31 if wrap else min(n, 32)
        pair = y << 32 | x
        return (pair << n >> 32 if left else pair >> n) & _WORD

    return (each(one, low(a, 32), low(b, 32), low(count, 32)),)


def popc(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """How many bits are set."""
    return (each(lambda x: x.bit_count(), low(a, _bits(bound))),)


def clz(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """How many bits lie above the highest that is set."""
    bits = _bits(bound)
    return (each(lambda x: bits - x.bit_length(), low(a, bits)),)


def brev(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """The bits in the other order."""
    bits = _bits(bound)
    return (each(lambda x: int(f"{x:0{bits}b}"[::-1], 2), low(a, bits)),)


def cnot(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """1 where a is 0, else 0."""
    return ((low(a, _bits(bound)) == 0).astype(np.uint64),)


def bfind(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """The highest bit that is set (of a negative number: that is clear), or how far left it would have to go."""
    bits, sign, shift = _bits(bound), _is_signed(bound), "shift" in bound.words

    def one(x: int) -> int:
        if sign and x >> (bits - 1):
            x ^= (1 << bits) - 1
        if x == 0:
            return _NONE
        place = x.bit_length() - 1
        return bits - 1 - place if shift else place

    return (each(one, low(a, bits)),)


def bfe(bound: Bound, a: Bits, start: Bits, length: Bits) -> tuple[Bits, ...]:
    """The field of a at a position; beyond the register lie zeros, or the sign, which is the field's last bit that is
    in the register."""
    bits, sign = _bits(bound), _is_signed(bound)

    def one(x: int, at: int, size: int) -> int:
        field = x >> at & (1 << size) - 1
        last = min(at + size - 1, bits - 1)
        if sign and size and x >> last & 1:
            field |= -1 << max(last - at + 1, 0)
        return field & ((1 << bits) - 1)

    return (each(one, low(a, bits), low(start, 8), low(length, 8)),)


def bfi(bound: Bound, a: Bits, b: Bits, start: Bits, length: Bits) -> tuple[Bits, ...]:
    """b with the low bits of a in the place of its field."""
    bits = _bits(bound)

    def one(x: int, y: int, at: int, size: int) -> int:
        field = ((1 << size) - 1) << at
        return (y & ~field | x << at & field) & ((1 << bits) - 1)

    return (each(one, low(a, bits), low(b, bits), low(start, 8), low(length, 8)),)


def bmsk(bound: Bound, start: Bits, length: Bits) -> tuple[Bits, ...]:
    """Set bits from a position on, as many as the second operand says; `.wrap` takes both modulo 32."""
    wrap = bound.words["mode"] == "wrap"

    def one(at: int, size: int) -> int:
        if wrap:
            at, size = at & 31, size & 31
        return (1 << min(size, 32)) - 1 << min(at, 32) & _WORD

    return (each(one, low(start, 32), low(length, 32)),)


def szext(bound: Bound, a: Bits, length: Bits) -> tuple[Bits, ...]:
    """The low bits of a, as many as the second operand says, extended by zeros or by the last of them."""
    wrap, sign = bound.words["mode"] == "wrap", _is_signed(bound)

    def one(x: int, size: int) -> int:
        size = size & 31 if wrap else min(size, 32)
        field = x & (1 << size) - 1
        return (field - (1 << size) if sign and size and field >> (size - 1) else field) & _WORD

    return (each(one, low(a, 32), low(length, 32)),)


def fns(bound: Bound, mask: Bits, base: Bits, offset: Bits) -> tuple[Bits, ...]:
    """The place of the n-th set bit from a base upwards (n > 0) or downwards (n < 0); n = 0: the base, if it is set."""

    def one(x: int, start: int, count: int) -> int:
        count -= (count >> 31) << 32
        if start > 31:
            return _NONE
        if count == 0:
            return start if x >> start & 1 else _NONE
        places = range(start, 32) if count > 0 else range(start, -1, -1)
        found = [place for place in places if x >> place & 1][: abs(count)]
        return found[-1] if len(found) == abs(count) else _NONE

    return (each(one, low(mask, 32), low(base, 32), low(offset, 32)),)


# The bytes of b:a that make the result, highest first, by the low two bits of the selector (PTX ISA, `prmt`).
_PERMUTATIONS: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def prmt(bound: Bound, a: Bits, b: Bits, selector: Bits) -> tuple[Bits, ...]:
    """Four bytes chosen from b:a; without a mode each by four bits, the highest of which repeats the byte's sign."""
    table = _PERMUTATIONS.get(bound.words.get("mode", ""))

    def one(x: int, y: int, chosen: int) -> int:
        source = (y << 32 | x).to_bytes(8, "little")
        if table:
            return int.from_bytes(bytes(source[int(digit)] for digit in table[chosen & 3]), "big")
        result = []
        for place in range(4):
            nibble = chosen >> 4 * place & 15
            byte = source[nibble & 7]
            result.append((255 if byte >> 7 else 0) if nibble & 8 else byte)
        return int.from_bytes(bytes(result), "little")

    return (each(one, low(a, 32), low(b, 32), low(selector, 32)),)


RULES: Final[Mapping[str, Rule]] = {
    "and": _bitwise(lambda a, b: a & b),
    "or": _bitwise(lambda a, b: a | b),
    "xor": _bitwise(lambda a, b: a ^ b),
    "not": _bitwise(lambda a: ~a),
    "mov": mov,
    "cnot": cnot,
    "lop3": lop3,
    "shl": shl,
    "shr": shr,
    "shf": shf,
    "popc": popc,
    "clz": clz,
    "brev": brev,
    "bfind": bfind,
    "bfe": bfe,
    "bfi": bfi,
    "bmsk": bmsk,
    "szext": szext,
    "fns": fns,
    "prmt": prmt,
}


def covers(bound: Bound) -> bool:
    """Every form of these opcodes."""
    return True
