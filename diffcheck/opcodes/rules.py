"""What PTX leaves open. The rows are recorded as measured, and the machine is not held to them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diffcheck.opcodes.probe import Probe
from py_builder_kernel.ptx.dtype import DTYPES


def is_unspecified(probe: Probe) -> npt.NDArray[np.bool_]:
    """The rows of a probe whose result PTX does not define."""
    if probe.opcode in ("div", "rem") and DTYPES[probe.bound.words["type"]].kind in "us":
        # PTX ISA, `div`: "division by zero yields an unspecified, machine-specific value"; `rem` follows from it.
        divisor = probe.body.inputs[1]
        return np.asarray(probe.columns[divisor.name] & np.uint64(2**divisor.bits - 1) == 0)
    return np.zeros(probe.rows, np.bool_)
