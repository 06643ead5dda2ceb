"""The 8-bit floats of `cvt` (OCP 8-bit Floating Point Specification): e5m2 is a small binary format of its own; e4m3
has no infinity, and NaN only where all bits but the sign are set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from diffcheck.opcodes.definitions import exact
from diffcheck.opcodes.definitions.arithmetic import rectified
from diffcheck.opcodes.definitions.exact import INFINITE, NAN, decode
from diffcheck.opcodes.definitions.nan import canonical
from diffcheck.opcodes.operands.formats import FORMATS, PAIRS, FloatFormat
from py_builder_kernel.ptx.table import Bound

_E5M2: Final = FloatFormat(8, 2)
# With its NaN as the only pattern above the numbers, its largest exponent is that of a format one larger.
_E4M3: Final = FloatFormat(8, 3)
TINY: Final[Mapping[str, FloatFormat]] = {"e5m2x2": _E5M2, "e4m3x2": _E4M3}
_NAN: Final = 0x7F
_LARGEST: Final[Mapping[str, int]] = {"e5m2x2": 0x7B, "e4m3x2": 0x7E}


def function(bound: Bound, to: str, of: str) -> Callable[[int], int]:
    """The conversion of one number between pairs `to` and `of` (or a single format)."""
    if to in TINY:
        source = FORMATS[PAIRS.get(of, of)]
        return lambda bits: _narrowed(to, source, bits, "relu" in bound.words)
    result = FORMATS[PAIRS[to]]
    return lambda bits: _widened(of, result, bits, "relu" in bound.words)


def _narrowed(name: str, source: FloatFormat, bits: int, relu: bool) -> int:
    """To the nearest; what is too large becomes the largest number (`.satfinite`)."""
    number = decode(source, bits)
    if number.kind == NAN:
        return _NAN
    sign = number.sign << 7
    if number.kind == INFINITE:
        size = _LARGEST[name]
    else:
        size = min(_nearest(TINY[name], number.significand, number.exponent), _LARGEST[name])
    return 0 if relu and sign else sign | size


def _nearest(fmt: FloatFormat, significand: int, exponent: int) -> int:
    """The magnitude's bits as if the format had exponents without end."""
    if significand == 0:
        return 0
    lowest = 1 - fmt.bias - fmt.fraction
    last = max(exponent + significand.bit_length() - fmt.fraction - 1, lowest)
    return exact.shifted(significand, last - exponent, 0, "rn") + ((last - lowest) << fmt.fraction)


def _widened(name: str, result: FloatFormat, bits: int, relu: bool) -> int:
    fmt = TINY[name]
    sign, size = bits >> 7, bits & 0x7F
    is_nan = size == _NAN if name == "e4m3x2" else size > fmt.infinity
    if is_nan:
        return canonical(result)
    if name == "e5m2x2" and size == fmt.infinity:
        found = exact.infinity(result, sign)
    else:
        field, fraction = size >> fmt.fraction, size & (1 << fmt.fraction) - 1
        significand = fraction | (1 << fmt.fraction if field else 0)
        found = exact.encode(result, sign, significand, max(field, 1) - fmt.bias - fmt.fraction, "rn")
    return rectified(result, found) if relu else found
