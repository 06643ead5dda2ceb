"""A small typed PTX builder: instructions checked against one opcode table, text that is the same byte for byte."""

from py_builder_kernel.ptx.address import Address, at_global, at_param, at_shared
from py_builder_kernel.ptx.dtype import B16, B32, B64, F16, F32, PRED, S32, S64, U16, U32, U64, DType
from py_builder_kernel.ptx.errors import PtxBuildError
from py_builder_kernel.ptx.function import Function
from py_builder_kernel.ptx.literal import F32Literal, f32_bits
from py_builder_kernel.ptx.module import Module
from py_builder_kernel.ptx.operands import Label, Operand, Param, Pred, Reg, Special, Symbol, Vec
from py_builder_kernel.ptx.target import TARGETS, Target, target_named

__all__ = [
    "B16", "B32", "B64", "F16", "F32", "PRED", "S32", "S64", "TARGETS", "U16", "U32", "U64",
    "Address", "DType", "F32Literal", "Function", "Label", "Module", "Operand", "Param", "Pred", "PtxBuildError",
    "Reg", "Special", "Symbol", "Target", "Vec",
    "at_global", "at_param", "at_shared", "f32_bits", "target_named",
]  # fmt: skip
