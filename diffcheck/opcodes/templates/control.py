"""Branches and ends: each path that a thread can take leaves its mark in the row."""

from __future__ import annotations

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from py_builder_kernel.ptx.table import Bound

_INPUTS = (Field("a", "u32"), Field("p", "pred"))


def _rows() -> Columns:
    return {name: column[:128] for name, column in rows_for(_INPUTS).items()}


def branch(bound: Bound) -> Body:
    """A test of `bra`: a guarded jump over an instruction, and a loop of 0 … 7 turns; `.uni` jumps with all threads."""
    outputs = (Field("d", "u32"), Field("n", "u32"))
    if "uni" in bound.words:
        over = ("mov.b32 %d, %a;", f"{bound.mnemonic} $_over;", "add.u32 %d, %d, 1;", "$_over:", "mov.b32 %n, 0;")
        return Body(_INPUTS, outputs, over, _rows)
    lines = (
        "mov.b32 %d, %a;",
        "mov.b32 %n, 0;",
        f"@%p {bound.mnemonic} $_over;",
        "add.u32 %d, %d, 1;",
        "$_over:",
        "and.b32 %turns, %a, 7;",
        "$_again:",
        "setp.ge.u32 %done, %n, %turns;",
        f"@%done {bound.mnemonic} $_end;",
        "add.u32 %n, %n, 1;",
        "mad.lo.u32 %d, %d, 5, %n;",
        f"{bound.mnemonic} $_again;",
        "$_end:",
    )
    registers = (".reg .b32 %turns;", ".reg .pred %done;")
    return Body(_INPUTS, outputs, lines, _rows, registers)


def end(bound: Bound) -> Body:
    """A test of `ret` and `exit`: threads with p end after a first store, the others store again."""
    lines = ["mov.b32 %d, %a;", "st.global.b32 [%out], %d;"]
    if "uni" in bound.words:
        # All threads end here; what follows would overwrite the mark.
        lines += [f"{bound.mnemonic};", "st.global.b32 [%out], 0;"]
    else:
        lines += [f"@%p {bound.mnemonic};", "not.b32 %d, %d;", "st.global.b32 [%out], %d;"]
    return Body(_INPUTS, (Field("d", "u32"),), tuple(lines), _rows, by_hand=frozenset({"d"}))
