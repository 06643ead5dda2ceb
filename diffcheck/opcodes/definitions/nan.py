"""The one rule for NaN results. The suite compares bits, so which NaN an operation gives is part of its definition.

PTX ISA, "Floating-Point Instructions": operations on f16, bf16 and f32 give one canonical NaN, all fraction bits and
no sign. Operations on f64 give the first operand that is NaN, made quiet; one that makes a NaN itself (inf - inf and
the like) gives the quiet NaN with a sign and no payload. Moves, `selp`, loads and their like give all bits as they are.
"""

from __future__ import annotations

from diffcheck.opcodes.operands.formats import FORMATS, FloatFormat

_DOUBLE = FORMATS["f64"]


def canonical(fmt: FloatFormat) -> int:
    """The NaN that operations of a format make."""
    if fmt.bits == _DOUBLE.bits:
        return fmt.sign | fmt.infinity | 1 << (fmt.fraction - 1)
    return fmt.sign - 1


def nan_of(fmt: FloatFormat, *operands: int) -> int:
    """The result of an operation on operands (bits) when it is NaN."""
    if fmt.bits == _DOUBLE.bits:
        for bits in operands:
            if bits & (fmt.sign - 1) > fmt.infinity:
                return bits | 1 << (fmt.fraction - 1)
    return canonical(fmt)
