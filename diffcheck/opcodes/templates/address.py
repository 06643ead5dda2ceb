"""Addresses: `cvta` both ways, `isspacep`, and `mov` of a variable's address. What an address is worth is not compared,
as every device places its windows where it likes; the bytes found there are."""

from __future__ import annotations

from functools import partial
from typing import Final

from diffcheck.opcodes.fields import Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.templates.memory import BLOCK, Place, generic, place, rows_for_few, space_of
from py_builder_kernel.ptx.table import Bound

_DATA: Final = (Field("e", "b32"),)
_SPACES: Final = ("global", "shared", "local", "const")


def cvta(bound: Bound) -> Body:
    """A test of `cvta`: a word that was stored through one kind of address is loaded through the other."""
    space = space_of(bound) or ""
    if space == "param":
        return _parameter(bound)
    if bound.form.operands[-1] == "name":
        return _named(bound, space)
    back = "to" in bound.words
    slot = _slot(space, back)
    source = slot.base
    lines = [*slot.lines]
    if space == "shared" and not back:
        lines.append(f"cvt.u64.u32 %given, {slot.base};")
        source = "%given"
    stored, loaded = ("", f".{space}") if back else (f".{space}", "")
    if space != "const":
        lines.append(f"st{stored}.b32 [{slot.base}], %e;")
    lines.append(f"{bound.mnemonic} %converted, {source};")
    base = "%converted"
    registers = [*slot.registers, ".reg .b64 %converted, %given;"]
    if space == "shared" and back:
        # A shared address has 32 bits in a register of 64.
        registers.append(".reg .b32 %low;")
        lines.append("cvt.u32.u64 %low, %converted;")
        base = "%low"
    lines.append(f"ld{loaded}.b32 %d, [{base}];")
    return _body(slot, registers, lines)


def _slot(space: str, is_generic: bool) -> Place:
    if space != "global":
        return generic(space) if is_generic else place(space)
    # Global memory that is the thread's own is its row of the outputs; the test leaves the word there.
    return Place((), (), (), "%out")


def _named(bound: Bound, space: str) -> Body:
    """The address of a variable by its name: shared and local memory is written first, the rest has a value."""
    size = 4 * BLOCK
    kinds = {"global": f".global .align 16 .b8 $_named[{size}] = {{1, 2, 3, 4, 5, 6, 7, 8}};"}
    kinds["const"] = kinds["global"].replace(".global", ".const")
    kinds["shared"] = f".shared .align 16 .b8 $_named[{size}];"
    variables = (kinds[space],) if space in kinds else ()
    registers = [".reg .b64 %converted, %mine;", ".reg .b32 %number;"]
    name = "named" if space == "local" else "$_named"
    if space == "local":
        registers.append(f".local .align 16 .b8 named[{size}];")
    lines = [
        f"{bound.mnemonic} %converted, {name};",
        "mov.u32 %number, %tid.x;",
        "mul.wide.u32 %mine, %number, 4;",
        "add.u64 %converted, %converted, %mine;",
    ]
    if space in ("shared", "local"):
        lines.append("st.b32 [%converted], %e;")
    lines.append("ld.b32 %d, [%converted];")
    return _body(Place(variables, (), (), ""), registers, lines)


def _parameter(bound: Bound) -> Body:
    """A kernel parameter by its generic address, and by the address that it came from."""
    lines = ["mov.u64 %given, extra;", "cvta.param.u64 %converted, %given;"]
    space = ""
    if "to" in bound.words:
        lines.append(f"{bound.mnemonic} %converted, %converted;")
        space = ".param"
    lines.append(f"ld{space}.b32 %d, [%converted+4];")
    body = _body(Place((), (), (), ""), [".reg .b64 %converted, %given;"], lines)
    return Body(
        body.inputs, body.outputs, body.lines, body.rows, body.registers, block=BLOCK, parameter=bytes(range(16))
    )


def _body(slot: Place, registers: list[str], lines: list[str]) -> Body:
    rows = partial(rows_for_few, _DATA)
    return Body(_DATA, (Field("d", "b32"),), tuple(lines), rows, tuple(registers), slot.variables, BLOCK)


def isspacep(bound: Bound) -> Body:
    """A test of `isspacep`: asked of an address of every space."""
    outputs: list[Field] = []
    lines: list[str] = []
    variables: list[str] = []
    registers: list[str] = []
    for space in _SPACES:
        field = Field(f"in_{space}", "pred")
        outputs.append(field)
        base = "%in"
        if space != "global":
            slot = generic(space, space)
            variables += slot.variables
            registers += slot.registers
            lines += slot.lines
            base = slot.base
        lines.append(f"{bound.mnemonic} %{field.name}, {base};")
    return Body((), tuple(outputs), tuple(lines), dict, tuple(registers), tuple(variables), BLOCK)


def named_variable(bound: Bound) -> Body:
    """A test of `mov` of a shared variable's address: what is stored there by name is found there by address."""
    wide = bound.dtype("out:type").bits == 64
    registers = (f".reg .b{64 if wide else 32} %address;", ".reg .b32 %low, %number, %at;")
    lines = [
        "mov.u32 %number, %tid.x;",
        f"{bound.mnemonic} %address, $_named;",
        "cvt.u32.u64 %low, %address;" if wide else "mov.b32 %low, %address;",
        "mad.lo.u32 %at, %number, 4, %low;",
        "st.shared.b32 [%at], %e;",
        "bar.sync 0;",
        "ld.shared.b32 %d, [$_named+8];",
    ]
    slot = Place((f".shared .align 16 .b8 $_named[{4 * BLOCK}];",), registers, (), "")
    return _body(slot, list(registers), lines)
