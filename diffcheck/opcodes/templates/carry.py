"""Carry chains: the carry that comes in is made by an operand, and the one that goes out is turned into a result."""

from __future__ import annotations

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from py_builder_kernel.ptx.table import Bound

# Additions carry and subtractions borrow; PTX does not say that one may follow the other.
_MAKE = {"add": "add.cc.u32 %made, %carry, 0xffffffff;", "sub": "sub.cc.u32 %made, 0, %carry;"}
_TAKE = {"add": "addc.u32 %left, 0, 0;", "sub": "subc.u32 %left, 0, 0;"}


def carry(bound: Bound) -> Body:
    """A test of `addc`, `subc`, `madc` and every form with `.cc`: the result, and what it leaves in the carry."""
    kind = "sub" if bound.form.opcode.startswith("sub") else "add"
    places = [word for word in bound.form.operands if word.startswith("in:")]
    inputs = [Field(letter, bound.dtype(word).name) for letter, word in zip("abc", places, strict=False)]
    operands = ", ".join(["%d", *(f"%{field.name}" for field in inputs)])
    lines = [_MAKE[kind], f"{bound.mnemonic} {operands};"]
    outputs = [Field("d", bound.dtype(bound.form.operands[0]).name)]
    if "cc" in bound.words:
        outputs.append(Field("left", "u32"))
        lines.append(_TAKE[kind])
    fields = (*inputs, Field("carry", "u32"))
    return Body(fields, tuple(outputs), tuple(lines), lambda: _rows(fields), (".reg .b32 %made;",))


def _rows(fields: tuple[Field, ...]) -> Columns:
    """The operands' rows, with and without a carry."""
    return rows_for([*fields[:-1], Field(fields[-1].name, "pred")])
