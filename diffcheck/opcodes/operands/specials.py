"""Edge values of every type: a long list, each met at least once, and a short one, each met in every combination."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from diffcheck.opcodes.operands.formats import FORMATS, PAIRS
from py_builder_kernel.ptx.dtype import DTYPES

# Shift counts, field widths and positions round every width; also small numbers that are nobody's edge.
_COUNTS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256)


@cache
def specials(name: str) -> tuple[int, ...]:
    """Every edge value of a type, as bits."""
    if name == "pred":
        return (0, 1)
    if name in PAIRS:
        width = DTYPES[name].bits // 2
        once = specials(PAIRS[name])
        return tuple(low | high << width for low, high in zip(once, once[5:] + once[:5], strict=True))
    return _floats(name) if name in FORMATS else _integers(name)


@cache
def edges(name: str) -> tuple[int, ...]:
    """The edge values of a type that meet each other in every combination."""
    if name == "pred":
        return (0, 1)
    if name in FORMATS:
        fmt = FORMATS[name]
        quiet = fmt.infinity | 1 << (fmt.fraction - 1)
        normal = 1 << fmt.fraction
        values = (0, fmt.sign, fmt.one, fmt.infinity, fmt.sign | fmt.infinity, quiet | 5, normal, fmt.sign | fmt.one)
        return (*values, normal - 1, fmt.sign | 1, fmt.infinity - 1, fmt.infinity | 1)
    bits = DTYPES[name].bits
    top = 1 << (bits - 1)
    return _distinct(
        bits, (0, 1, 2**bits - 1, top, top - 1, bits - 1, bits, bits + 1, 0x5A5A5A5A5A5A5A5A, 255, 1 << 31)
    )


def _integers(name: str) -> tuple[int, ...]:
    bits = DTYPES[name].bits
    top = 1 << (bits - 1)
    powers = [1 << k for k in (7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63)]
    near = [power + step for power in (*powers, top, 2 * top) for step in (-1, 0, 1)]
    patterns = (0x5555555555555555, 0xAAAAAAAAAAAAAAAA, 0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x00FF00FF00FF00FF)
    return _distinct(bits, (*_COUNTS, *near, *(-value for value in (*_COUNTS, *near)), *patterns))


def _floats(name: str) -> tuple[int, ...]:
    fmt = FORMATS[name]
    quiet = fmt.infinity | 1 << (fmt.fraction - 1)
    normal, payload = 1 << fmt.fraction, 0x12345 & ((1 << (fmt.fraction - 1)) - 1)
    half, two, three = fmt.one - normal, fmt.one + normal, fmt.one + normal + (normal >> 1)
    magnitudes = (
        *(0, 1, 2, 3, normal >> 1, normal - 2, normal - 1, normal, normal + 1, 2 * normal - 1, 2 * normal),
        *(half - 1, half, half + 1, fmt.one - 1, fmt.one, fmt.one + 1, fmt.one + (normal >> 1)),
        *(two - 1, two, two + 1, three, (fmt.one + fmt.infinity) >> 1, fmt.infinity - normal, fmt.infinity - 1),
        *(fmt.infinity, quiet, quiet | payload, fmt.infinity | 1, fmt.infinity | payload, fmt.sign - 1),
    )
    return _distinct(fmt.bits, (*magnitudes, *(fmt.sign | magnitude for magnitude in magnitudes)))


def _distinct(bits: int, values: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(value & (2**bits - 1) for value in values))
