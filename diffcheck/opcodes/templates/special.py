"""Special registers: those whose value the launch decides."""

from __future__ import annotations

from typing import Final

from diffcheck.opcodes.fields import Field
from diffcheck.opcodes.kernel import Body
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

# %warpid and %nwarpid name hardware places, and PTX says that they may change while a thread runs; clocks and the
# sizes of memory differ from device to device.
_DECIDED: Final = (
    *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    "laneid",
    *(f"lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")),
)
_WARPS: Final = 2


# Of 64 bits are clocks, times and numbers of a run. What can be held is that a clock does not go back.
_CLOCK: Final = "clock64"


def special_registers(bound: Bound) -> Body:
    """A test of `mov` from special registers, in two blocks of two warps."""
    if DTYPES[bound.words["type"]].bits == 64:
        return _clock(bound)
    outputs = tuple(Field(f"s_{name.replace('.', '_')}", "u32") for name in _DECIDED)
    lines = tuple(f"{bound.mnemonic} %{field.name}, %{name};" for field, name in zip(outputs, _DECIDED, strict=True))
    return Body((), outputs, lines, dict, block=32 * _WARPS)


def _clock(bound: Bound) -> Body:
    """Whether a second reading is later than a first one."""
    lines = (
        f"{bound.mnemonic} %before, %{_CLOCK};",
        "bar.sync 0;",
        f"{bound.mnemonic} %after, %{_CLOCK};",
        "setp.gt.u64 %later, %after, %before;",
    )
    registers = (".reg .b64 %before, %after;",)
    return Body((), (Field("later", "pred"),), lines, dict, registers, block=32 * _WARPS)
