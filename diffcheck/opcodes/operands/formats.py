"""The binary floating-point formats, and the way from their bits to f64 and back, for making operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from diffcheck.opcodes.fields import Bits


@dataclass(frozen=True)
class FloatFormat:
    """A format of `bits` bits: a sign, an exponent, and `fraction` explicit bits of the significand."""

    bits: int
    fraction: int

    @property
    def exponent_bits(self) -> int:
        """Bits of the exponent."""
        return self.bits - 1 - self.fraction

    @property
    def bias(self) -> int:
        """What is added to an exponent."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        """The bits of +inf; every larger magnitude is NaN."""
        return ((1 << self.exponent_bits) - 1) << self.fraction

    @property
    def one(self) -> int:
        """The bits of 1."""
        return self.bias << self.fraction


FORMATS: Final[dict[str, FloatFormat]] = {
    "f16": FloatFormat(16, 10),
    "bf16": FloatFormat(16, 7),
    "f32": FloatFormat(32, 23),
    "f64": FloatFormat(64, 52),
}
# Two numbers in one register, and the type of each. An 8-bit float is made from any bits.
PAIRS: Final[dict[str, str]] = {
    "f16x2": "f16",
    "bf16x2": "bf16",
    "f32x2": "f32",
    "u16x2": "u16",
    "s16x2": "s16",
    "e4m3x2": "b8",
    "e5m2x2": "b8",
}


def to_f64(name: str, bits: Bits) -> npt.NDArray[np.float64]:
    """The numbers that bits of a format stand for, exactly."""
    if name == "f16":
        return np.asarray(bits.astype(np.uint16).view(np.float16), np.float64)
    if name == "bf16":
        return np.asarray((bits << np.uint64(16)).astype(np.uint32).view(np.float32), np.float64)
    if name == "f32":
        return np.asarray(bits.astype(np.uint32).view(np.float32), np.float64)
    return np.asarray(bits.view(np.float64), np.float64)


def from_f64(name: str, numbers: npt.NDArray[np.float64]) -> Bits:
    """Bits of a format near the numbers: to the nearest, except that bf16 is rounded to the nearest f32 first."""
    with np.errstate(all="ignore"):
        if name == "f16":
            return numbers.astype(np.float16).view(np.uint16).astype(np.uint64)
        if name == "f64":
            return np.array(numbers.view(np.uint64), np.uint64)
        words = numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
    if name == "bf16":
        even = (words >> np.uint64(16)) & np.uint64(1)
        return np.asarray((words + np.uint64(0x7FFF) + even) >> np.uint64(16), np.uint64)
    return words
