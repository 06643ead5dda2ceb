"""The exponential E(x) of the contract (docs/contract.md, section 4)."""

from __future__ import annotations

from typing import Final

from py_builder_kernel.ptx import F32, F32Literal, Function, Reg

LOG2E: Final = F32Literal(0x3FB8AA3B)
MAGIC: Final = F32Literal(0x4B400000)
MINUS_LN2_HI: Final = F32Literal(0xBF317218)
MINUS_LN2_LO: Final = F32Literal(0x3102E308)
# C6 first: the order of Horner's rule.
COEFFICIENTS: Final = tuple(map(F32Literal, (0x3AB51E84, 0x3C091C2B, 0x3D2AAC5F, 0x3E2AAA4A, 0x3EFFFFFE)))
ONE: Final = F32Literal(0x3F800000)
ZERO: Final = F32Literal(0)
CUT_OFF: Final = F32Literal(0xC2AE0000)


def exponential(f: Function, x: Reg) -> Reg:
    """Emit E(x), for x <= 0 or NaN, inline; the result is a fresh f32 register.

    Range reduction by multiples of ln 2: the low bits of `t` are the multiple, as adding 1.5·2^23 rounds to integers,
    and go straight into the exponent field.
    """
    t = f.new("fma.rn.f32", x, LOG2E, MAGIC)
    n = f.new("sub.rn.f32", t, MAGIC)
    r = f.new("fma.rn.f32", n, MINUS_LN2_HI, x)
    r = f.new("fma.rn.f32", n, MINUS_LN2_LO, r)
    p = f.reg(F32)
    f.emit("mov.f32", p, COEFFICIENTS[0])
    for coefficient in (*COEFFICIENTS[1:], ONE, ONE):
        p = f.new("fma.rn.f32", p, r, coefficient)
    shifted = f.new("shl.b32", f.new("mov.b32", t), 23)
    y = f.reg(F32)
    f.emit("mov.b32", y, f.new("add.s32", f.new("mov.b32", p), shifted))
    y = f.new("selp.f32", ZERO, y, f.new("setp.lt.f32", x, CUT_OFF))
    return f.new("selp.f32", x, y, f.new("setp.nan.f32", x, x))
