"""Rows that no one is held to: what PTX leaves open, and where the measured device departs from PTX.

The rows are recorded as measured. Each rule is a function of a test that gives the rows, with its reason.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from diffcheck.opcodes.definitions.rows import low
from diffcheck.opcodes.operands.formats import FORMATS
from diffcheck.opcodes.probe import Probe
from py_builder_kernel.ptx.dtype import DTYPES

Rows = npt.NDArray[np.bool_]


def _none(probe: Probe) -> Rows:
    return np.zeros(probe.rows, np.bool_)


def division_by_zero(probe: Probe) -> Rows:
    """PTX ISA, `div`: the result is unspecified and differs from machine to machine; `rem` follows from it."""
    if probe.opcode not in ("div", "rem") or DTYPES[probe.bound.words["type"]].kind not in "us":
        return _none(probe)
    divisor = probe.body.inputs[1]
    return np.asarray(low(probe.columns[divisor.name], divisor.bits) == 0)


def far_field(probe: Probe) -> Rows:
    """PTX ISA, `bfe` and `bfi`: position and length are restricted to 0 … 255. Forms of 32 bits take the low eight
    bits of more, as its pseudocode says; those of 64 bits, made of several instructions, all of them."""
    if probe.opcode not in ("bfe", "bfi") or DTYPES[probe.bound.words["type"]].bits < 64:
        return _none(probe)
    start, length = (low(probe.columns[field.name], 32) for field in probe.body.inputs[-2:])
    return np.asarray((start > 255) | (length > 255))


def kept_denormal(probe: Probe) -> Rows:
    """PTX ISA, `cvt`: `.ftz` takes a denormal f32 operand as zero. The measured device keeps it on the way to f16,
    where that shows when rounding away from zero."""
    words = probe.bound.words
    if probe.opcode != "cvt" or "ftz" not in words or words.get("rnd") not in ("rm", "rp"):
        return _none(probe)
    if (words["dtype"], words["atype"]) != ("f16", "f32"):
        return _none(probe)
    magnitude = low(probe.columns[probe.body.inputs[0].name], 31)
    return np.asarray((magnitude > 0) & (magnitude < np.uint64(1 << FORMATS["f32"].fraction)))


def tf32_of_nan(probe: Probe) -> Rows:
    """PTX ISA, `cvt`, does not say what `.rna` makes of a NaN. Measured, the NaN's bits are cut like those of a number,
    and one without a payload left becomes an infinity, or with `.satfinite` a number."""
    words = probe.bound.words
    if probe.opcode != "cvt" or words["dtype"] != "tf32" or words["rnd"] != "rna":
        return _none(probe)
    magnitude = low(probe.columns[probe.body.inputs[0].name], 31)
    return np.asarray(magnitude > np.uint64(FORMATS["f32"].infinity))


def endless_search(probe: Probe) -> Rows:
    """PTX ISA, `fns`: the count is the magnitude of the offset, and that of the least s32 is no s32."""
    if probe.opcode != "fns":
        return _none(probe)
    return np.asarray(low(probe.columns[probe.body.inputs[2].name], 32) == np.uint64(1 << 31))


RULES: Final[tuple[Callable[[Probe], Rows], ...]] = (
    division_by_zero,
    far_field,
    kept_denormal,
    tf32_of_nan,
    endless_search,
)


def is_unspecified(probe: Probe) -> Rows:
    """The rows of a test whose result is not held to anything."""
    return np.asarray(np.logical_or.reduce([rule(probe) for rule in RULES]))
