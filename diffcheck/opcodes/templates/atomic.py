"""Atomic operations: each thread has a place of its own; what the place held and what it holds are both compared."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from diffcheck.opcodes.templates.memory import BLOCK, elements, generic, is_global, place, space_of, vector
from py_builder_kernel.ptx.table import Bound

_ROWS: Final = 20 * BLOCK


def atomic(bound: Bound) -> Body:
    """A test of `atom` and `red`."""
    space = space_of(bound)
    start, given = elements(bound, "a", narrow=False), elements(bound, "b", narrow=False)
    compared = (Field("c0", bound.words["type"]),) if bound.words["op"] == "cas" else ()
    operands = ", ".join([*(f"%{f.name}" for f in compared), vector([f"%{f.name}" for f in given])])
    lines: list[str] = []
    outputs: list[Field] = []
    variables: list[str] = []
    registers: list[str] = []
    by_hand: list[str] = []
    spaces = (space,) if space else ("global",) if is_global(bound) else ("global", "shared")
    for where in spaces:
        new = elements(bound, f"n{where[0]}", narrow=False)
        old = elements(bound, f"o{where[0]}", narrow=False) if bound.form.opcode == "atom" else ()
        base = "%out"
        if where == "shared":
            slot = place(where, where) if space else generic(where, where)
            variables += slot.variables
            registers += slot.registers
            lines += slot.lines
            base = slot.base
        # The first output of a row lies at its start, which is the place in global memory.
        outputs = [*new, *outputs, *old] if where == "global" else [*outputs, *new, *old]
        state = f".{where}" if space or where == "global" else ""
        size = start[0].bits // 8
        lines += [f"st{state}.b{f.bits} [{base}+{i * size}], %{f.name};" for i, f in enumerate(start)]
        result = f"{vector([f'%{f.name}' for f in old])}, " if old else ""
        lines.append(f"{bound.mnemonic} {result}[{base}], {operands};")
        if where == "global":
            by_hand += [f.name for f in new]
        else:
            lines += [f"ld{state}.b{f.bits} %{f.name}, [{base}+{i * size}];" for i, f in enumerate(new)]
    return Body(
        (*start, *given, *compared),
        tuple(outputs),
        tuple(lines),
        partial(_rows, start, given, compared),
        tuple(registers),
        tuple(variables),
        BLOCK,
        by_hand=frozenset(by_hand),
    )


def _rows(start: tuple[Field, ...], given: tuple[Field, ...], compared: tuple[Field, ...]) -> Columns:
    """Rows of edge values; in every third, what is compared is what is there. Parts of a vector take rows in turn."""
    fields = (start[0], given[0], *compared)
    columns = {name: column[:_ROWS] for name, column in rows_for(fields).items()}
    if compared:
        columns["c0"] = columns["c0"].copy()
        columns["c0"][::3] = columns["a0"][::3]
    for parts in (start, given):
        for turn, part in enumerate(parts[1:], 1):
            columns[part.name] = np.roll(columns[parts[0].name], 7 * turn)
    return columns
