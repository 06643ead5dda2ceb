"""The special registers that kernels read."""

from typing import Final

from py_builder_kernel.ptx.operands import Special

_AXES: Final = ("x", "y", "z")
SPECIAL_REGISTERS: Final = (
    *(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in _AXES),
    "%laneid",
    "%warpid",
)

TID_X: Final = Special("%tid.x")
CTAID_X: Final = Special("%ctaid.x")
CTAID_Y: Final = Special("%ctaid.y")
