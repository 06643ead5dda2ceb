"""`cp.async`: a row goes to shared memory by an asynchronous copy and is read back when it has arrived."""

from __future__ import annotations

from functools import partial
from typing import Final

from diffcheck.opcodes.fields import Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.templates.memory import BLOCK, Place, place, policy, rows_for_few
from py_builder_kernel.ptx.table import Bound

_WORDS: Final = tuple(Field(f"e{index}", "b32") for index in range(4))
# Bytes of a copy: PTX allows `.cg` 16 only.
_SIZES: Final = {"ca": (4, 8, 16), "cg": (16,)}
_MOST_PENDING: Final = 1


def async_copy(bound: Bound) -> Body:
    """A test of `cp.async` in each of its parts: the copy, the commit, the waits."""
    if "what" in bound.words:
        return _groups(bound)
    slots: list[Place] = []
    hint, declared, made = policy(bound)
    lines: list[str] = [*made]
    outputs: list[Field] = []
    reads: list[str] = []
    for size in _SIZES[bound.words["cache"]]:
        for given in counts(bound):
            number = len(slots)
            slots.append(place("shared", str(number)))
            base = slots[-1].base
            lines += slots[-1].lines
            if given:
                # Bytes that are copied; the rest of the destination becomes zero.
                lines.append(f"rem.u32 %count, %t, {size + 1};")
            lines.append(f"{bound.mnemonic} [{base}], [%in], {size}{f', {given}' if given else ''}{hint};")
            taken = [Field(f"d{number}_{word}", "b32") for word in range(size // 4)]
            outputs += taken
            reads += [f"ld.shared.b32 %{field.name}, [{base}+{4 * word}];" for word, field in enumerate(taken)]
    return _body(slots, [*lines, "cp.async.wait_all;", *reads], outputs, declared)


def counts(bound: Bound) -> tuple[str | None, ...]:
    """What says how many bytes are read, where the form takes it: always, or not at all."""
    words = bound.form.operands
    if "in:u32?" in words:
        return None, "%count"
    return ("%count",) if "in:u32" in words else (None,)


def _groups(bound: Bound) -> Body:
    """Two copies in two groups; the form under test stands where it is needed for the words to be there."""
    first, second = place("shared", "0"), place("shared", "1")
    outputs = [Field("d0", "b32"), Field("d1", "b32")]
    copies = [
        f"cp.async.ca.shared.global [{slot.base}], [%in+{4 * index}], 4;" for index, slot in enumerate((first, second))
    ]
    reads = [f"ld.shared.b32 %d{index}, [{slot.base}];" for index, slot in enumerate((first, second))]
    match bound.words["what"]:
        case "wait_group":
            middle = [f"{bound.mnemonic} {_MOST_PENDING};", reads[0], f"{bound.mnemonic} 0;"]
        case "commit_group":
            middle = [f"cp.async.wait_group {_MOST_PENDING};", reads[0], "cp.async.wait_group 0;"]
        case _:
            middle = [f"{bound.mnemonic};", reads[0]]
    commit = "cp.async.commit_group;"
    lines = [*first.lines, *second.lines, copies[0], commit, copies[1], commit, *middle, reads[1]]
    return _body([first, second], lines, outputs)


def _body(slots: list[Place], lines: list[str], outputs: list[Field], declared: tuple[str, ...] = ()) -> Body:
    registers = [".reg .b32 %count;", *declared, *(line for slot in slots for line in slot.registers)]
    variables = tuple(line for slot in slots for line in slot.variables)
    rows = partial(rows_for_few, _WORDS)
    return Body(_WORDS, tuple(outputs), tuple(lines), rows, tuple(registers), variables, BLOCK)
