"""Special registers: those whose value the launch decides."""

from __future__ import annotations

from typing import Final

from diffcheck.opcodes.fields import Field
from diffcheck.opcodes.kernel import Body
from py_builder_kernel.ptx.table import Bound

# %warpid and %nwarpid name hardware places, and PTX says that they may change while a thread runs; clocks and the
# sizes of memory differ from device to device.
_DECIDED: Final = (
    *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
    "laneid",
    *(f"lanemask_{which}" for which in ("eq", "lt", "le", "gt", "ge")),
)
_WARPS: Final = 2


def special_registers(bound: Bound) -> Body:
    """A test of `mov` from special registers, in two blocks of two warps."""
    outputs = tuple(Field(f"s_{name.replace('.', '_')}", "u32") for name in _DECIDED)
    lines = tuple(f"{bound.mnemonic} %{field.name}, %{name};" for field, name in zip(outputs, _DECIDED, strict=True))
    return Body((), outputs, lines, dict, block=32 * _WARPS)
