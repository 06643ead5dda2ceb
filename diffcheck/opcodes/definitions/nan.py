"""The one rule for NaN results. The suite compares bits, so which NaN an operation gives is part of its definition.

PTX leaves payloads open; this is what was measured (sm_90), the same in every form of an operation.

- Operations on f16, bf16 and f32 give one canonical NaN: no sign, all other bits set. That of tf32 is cut to its bits.
- Operations on f64, `abs` and `neg` among them, give one of the operands that are NaN with its sign, made quiet: of
  the second, the third and the first operand, the first that is NaN; `div`, which is a subroutine, takes the first.
  Where none is NaN (inf - inf and the like) it is the quiet NaN with a sign and no payload.
- `atom` and `red` of f64 are done beside global memory: there the NaN stays as it is, the operand if that is one, else
  the one that lay there. In shared memory it is the thread's own addition, with what lay there as its second operand.
- Conversions to and from f64 keep the sign and the highest bits of the payload, and make it quiet. With `.ftz` an f32
  becomes the canonical NaN first.
- Conversions that change no value, and moves, `selp`, loads and their like, keep all bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from diffcheck.opcodes.operands.formats import FORMATS, FloatFormat

_DOUBLE: Final = FORMATS["f64"]
_SINGLE: Final = FORMATS["f32"]


def is_nan(fmt: FloatFormat, bits: int) -> bool:
    """Whether bits are those of a NaN."""
    return bits & (fmt.sign - 1) > fmt.infinity


def canonical(fmt: FloatFormat) -> int:
    """The NaN that operations of a format make."""
    return fmt.sign | fmt.infinity | _quiet(fmt) if fmt == _DOUBLE else fmt.sign - 1


def _quiet(fmt: FloatFormat) -> int:
    return 1 << (fmt.fraction - 1)


def nan_of(fmt: FloatFormat, opcode: str, operands: Sequence[int]) -> int:
    """The result of an operation on operands (bits) when it is NaN."""
    if fmt == _DOUBLE:
        ranked = operands if opcode == "div" else (*operands[1:], *operands[:1])
        for bits in ranked:
            if is_nan(fmt, bits):
                return bits | _quiet(fmt)
    return canonical(fmt)


def converted(source: FloatFormat, result: FloatFormat, bits: int, ftz: bool) -> int:
    """The NaN of another format that a NaN becomes."""
    if ftz and source == _SINGLE:
        bits = canonical(source)
    if _DOUBLE not in (source, result):
        return canonical(result)
    payload = bits & ((1 << source.fraction) - 1)
    places = result.fraction - source.fraction
    payload = payload << places if places >= 0 else payload >> -places
    sign = result.sign if bits & source.sign else 0
    return sign | result.infinity | payload | _quiet(result)
