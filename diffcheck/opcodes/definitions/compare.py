"""Comparisons and choices (PTX ISA, "Comparison and Selection Instructions")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from diffcheck.opcodes.definitions.rows import Rule, low
from diffcheck.opcodes.fields import Bits
from diffcheck.opcodes.operands.formats import FORMATS, PAIRS, to_f64
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

Truth = npt.NDArray[np.bool_]
_ORDERED: Final[Mapping[str, Callable[..., Truth]]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    # Names for unsigned numbers.
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_BOOLEAN: Final[Mapping[str, Callable[..., Truth]]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def numbers(name: str, column: Bits, ftz: bool) -> npt.NDArray[np.float64]:
    """The numbers of a column of floats, which f64 holds exactly; denormals as zeros with `ftz`."""
    fmt = FORMATS[name]
    if ftz:
        magnitude = low(column, fmt.bits - 1)
        column = np.where(magnitude < np.uint64(1 << fmt.fraction), column & np.uint64(fmt.sign), column)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return to_f64(name, low(column, fmt.bits))


def relation(name: str, word: str, ftz: bool, a: Bits, b: Bits) -> Truth:
    """Whether a comparison holds. One whose name ends in `u` holds too where an operand is NaN; others do not."""
    if name not in FORMATS:
        dtype = DTYPES[name]
        x, y = low(a, dtype.bits), low(b, dtype.bits)
        if dtype.kind == "s":
            # With the sign bit turned over, two's complement has the order of unsigned numbers.
            flip = np.uint64(1 << (dtype.bits - 1))
            x, y = x ^ flip, y ^ flip
        return _ORDERED[word](x, y)
    u, v = numbers(name, a, ftz), numbers(name, b, ftz)
    either_nan = np.isnan(u) | np.isnan(v)
    if word in ("num", "nan"):
        return ~either_nan if word == "num" else either_nan
    if word in _ORDERED:
        return _ORDERED[word](u, v) & ~either_nan
    return _ORDERED[word.removesuffix("u")](u, v) | either_nan


def _joined(bound: Bound, held: Truth, p: Bits | None) -> Truth:
    return held if p is None else _BOOLEAN[bound.words["bool"]](held, p != 0)


def _in_both(bound: Bound, name: str, a: Bits, b: Bits) -> tuple[Truth, Truth]:
    one = PAIRS[name]
    places = [np.uint64(0), np.uint64(FORMATS[one].bits)]
    found = [relation(one, bound.words["cmp"], "ftz" in bound.words, a >> place, b >> place) for place in places]
    return found[0], found[1]


def setp(bound: Bound, a: Bits, b: Bits, p: Bits | None = None) -> tuple[Bits, ...]:
    """Whether the comparison holds, and whether it does not, each joined with p; of two numbers in one register,
    whether it holds for the low ones, and for the high ones."""
    name = bound.words["type"]
    if name in PAIRS:
        first, second = _in_both(bound, name, a, b)
    else:
        first = relation(name, bound.words["cmp"], "ftz" in bound.words, a, b)
        second = ~first
    results = [_joined(bound, held, p).astype(np.uint64) for held in (first, second)]
    return tuple(results[: sum("pout" in word for word in bound.form.operands)])


def _true(name: str) -> int:
    """What `set` gives for true: 1 in a float format, all ones in an integer."""
    return FORMATS[name].one if name in FORMATS else 2 ** DTYPES[name].bits - 1


def set_(bound: Bound, a: Bits, b: Bits, p: Bits | None = None) -> tuple[Bits, ...]:
    """The comparison as a number."""
    source, result = bound.words["atype"], bound.words["dtype"]
    if source in PAIRS:
        true = np.uint64(_true(PAIRS[result]) if result in PAIRS else 2**16 - 1)
        parts = [np.where(_joined(bound, held, p), true, np.uint64(0)) for held in _in_both(bound, source, a, b)]
        return (np.asarray(parts[0] | parts[1] << np.uint64(16)),)
    held = relation(source, bound.words["cmp"], "ftz" in bound.words, a, b)
    return (np.where(_joined(bound, held, p), np.uint64(_true(result)), np.uint64(0)),)


def selp(bound: Bound, a: Bits, b: Bits, p: Bits) -> tuple[Bits, ...]:
    """a where p holds, else b."""
    return (np.where(p != 0, a, b),)


def slct(bound: Bound, a: Bits, b: Bits, c: Bits) -> tuple[Bits, ...]:
    """a where c >= 0, else b; a NaN is not."""
    zeros = np.zeros_like(c)
    return (np.where(relation(bound.words["atype"], "ge", "ftz" in bound.words, c, zeros), a, b),)


def testp(bound: Bound, a: Bits) -> tuple[Bits, ...]:
    """Whether a number is of a kind."""
    fmt = FORMATS[bound.words["type"]]
    magnitude = low(a, fmt.bits - 1)
    endless, normal = np.uint64(fmt.infinity), np.uint64(1 << fmt.fraction)
    held = {
        "finite": magnitude < endless,
        "infinite": magnitude == endless,
        "number": magnitude <= endless,
        "notanumber": magnitude > endless,
        # PTX ISA, `testp`: zeros count as normal numbers.
        "normal": (magnitude == 0) | (magnitude >= normal) & (magnitude < endless),
        "subnormal": (magnitude > 0) & (magnitude < normal),
    }
    return (held[bound.words["test"]].astype(np.uint64),)


def copysign(bound: Bound, a: Bits, b: Bits) -> tuple[Bits, ...]:
    """b with the sign of a."""
    fmt = FORMATS[bound.words["type"]]
    return (np.asarray(a & np.uint64(fmt.sign) | low(b, fmt.bits - 1)),)


RULES: Final[Mapping[str, Rule]] = {
    "setp": setp,
    "set": set_,
    "selp": selp,
    "slct": slct,
    "testp": testp,
    "copysign": copysign,
}


def covers(bound: Bound) -> bool:
    """Every form of these opcodes."""
    return True
