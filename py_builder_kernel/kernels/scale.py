"""Scores by sqrt(head_dim)."""

from __future__ import annotations

import math
import struct

from py_builder_kernel.ptx import F32Literal, Function, Reg, f32_bits


def scaled(f: Function, x: Reg, head_dim: int) -> Reg:
    """`x / sqrt(head_dim)`, IEEE division by the rounded root.

    Where the root is a power of two its reciprocal is exact, and multiplying has the division's bits.
    """
    root = math.sqrt(head_dim)
    mantissa, _ = math.frexp(root)
    if mantissa == 0.5:
        return f.new("mul.rn.f32", x, f32_bits(1 / root))
    # Rounding the f64 root to f32 rounds the exact root: sqrt of an integer below 2^20 is never so close to a tie.
    return f.new("div.rn.f32", x, F32Literal(struct.unpack("<I", struct.pack("<f", root))[0]))
