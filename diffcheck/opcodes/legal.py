"""Combinations of words that an entry of the table allows and PTX does not: one rule each, with its reason."""

from __future__ import annotations

from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

_VECTOR_BITS = 128
_LENGTH = {"v2": 2, "v4": 4, "v8": 8}


def is_legal(bound: Bound) -> bool:
    """Whether PTX has the mnemonic."""
    return not (_is_idle_saturation(bound) or _is_too_wide(bound))


def _is_idle_saturation(bound: Bound) -> bool:
    """PTX ISA, `cvt`: `.sat` between integers only where the result's range does not hold the operand's."""
    if bound.form.opcode != "cvt" or "sat" not in bound.words:
        return False
    to, source = DTYPES[bound.words["dtype"]], DTYPES[bound.words["atype"]]
    if to.kind not in "us" or source.kind not in "us":
        return False
    if to.kind == source.kind:
        return to.bits >= source.bits
    return source.kind == "u" and to.bits > source.bits


def _is_too_wide(bound: Bound) -> bool:
    """PTX ISA, "Vectors": an access has at most 128 bits; only sm_100 has wider ones, and only in global memory."""
    vector = _LENGTH.get(bound.words.get("vec", ""), 1)
    return "type" in bound.words and vector * DTYPES[bound.words["type"]].bits > _VECTOR_BITS
