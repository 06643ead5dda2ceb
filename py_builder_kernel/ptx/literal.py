"""f32 constants by their bits."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from py_builder_kernel.ptx.errors import PtxBuildError


@dataclass(frozen=True, slots=True)
class F32Literal:
    """An f32 immediate, held and written as its 32 bits (`0fXXXXXXXX`), so that no reader rounds it again."""

    bits: int

    def __post_init__(self) -> None:
        if not 0 <= self.bits < 1 << 32:
            raise PtxBuildError(f"f32 literal bits is {self.bits:#x}; allowed: 0 to 0xFFFFFFFF")

    def __str__(self) -> str:
        return f"0f{self.bits:08X}"


def f32_bits(value: float) -> F32Literal:
    """The literal of a number that f32 holds exactly; raises PtxBuildError for one that it does not."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = b""
    if not packed or not (math.isnan(value) or struct.unpack("<f", packed)[0] == value):
        raise PtxBuildError(f"{value!r} is not an f32: round it yourself, or give its bits with F32Literal")
    return F32Literal(struct.unpack("<I", packed)[0])
