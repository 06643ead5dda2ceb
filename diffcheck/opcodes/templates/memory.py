"""Loads and stores of every space: a row's own bytes go through the space and come back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from diffcheck.opcodes.operands.stream import random_bits
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

BLOCK: Final = 32
_LENGTH: Final = {"v2": 2, "v4": 4, "v8": 8}
# Bytes of a variable that a thread has for itself.
SLOT: Final = 32
CONSTANTS: Final = 512
# What a generic address may point to.
_LOADED: Final = ("global", "shared", "local", "const")
_STORED: Final = ("global", "shared", "local")


_GLOBAL: Final = ("global",)


def is_global(bound: Bound) -> bool:
    """Whether a form without a space is for addresses of global memory alone."""
    is_vector_sum = bound.form.opcode in ("atom", "red") and "vec" in bound.words
    return is_vector_sum or "mmio" in bound.words or "hint" in bound.words


@dataclass(frozen=True)
class Place:
    """Where an access goes: what declares it, what makes the address `%at` (`%at32` in shared memory), and `base`."""

    variables: tuple[str, ...]
    registers: tuple[str, ...]
    lines: tuple[str, ...]
    base: str


def constants() -> bytes:
    """What the constant variable of every test holds."""
    return bytes(int(word) & 255 for word in random_bits("const", CONSTANTS))


def place(space: str, suffix: str = "") -> Place:
    """A thread's own slot of a space; `suffix` keeps several in one kernel apart."""
    at, tid = f"%at{suffix}", f"%number{suffix}"
    wide = f".reg .b64 {at};"
    match space:
        case "shared":
            variable = f".shared .align 16 .b8 $_tile{suffix}[{SLOT * BLOCK}];"
            narrow = (f"mov.u32 {tid}, %tid.x;", f"mov.u32 {at}, $_tile{suffix};")
            return Place(
                (variable,),
                (f".reg .b32 {at}, {tid};",),
                (*narrow, f"mad.lo.u32 {at}, {tid}, {SLOT}, {at};"),
                at,
            )
        case "local":
            frame = (f".local .align 16 .b8 frame{suffix}[{SLOT}];", wide)
            return Place((), frame, (f"mov.u64 {at}, frame{suffix};",), at)
        case "const":
            data = ", ".join(str(byte) for byte in constants())
            lines = (
                f"mov.u32 {tid}, %tid.x;",
                f"mul.wide.u32 %row{suffix}, {tid}, {CONSTANTS // BLOCK};",
                f"mov.u64 {at}, $_table{suffix};",
                f"add.u64 {at}, {at}, %row{suffix};",
            )
            declared = (wide, f".reg .b32 {tid};", f".reg .b64 %row{suffix};")
            return Place((f".const .align 16 .b8 $_table{suffix}[{CONSTANTS}] = {{{data}}};",), declared, lines, at)
    raise ValueError(f"no variable of space {space!r}")


def generic(space: str, suffix: str = "") -> Place:
    """The same slot by its generic address."""
    inner = place(space, f"{suffix}s")
    at = f"%at{suffix}"
    lines = [*inner.lines]
    source = inner.base
    if space == "shared":
        lines.append(f"cvt.u64.u32 %wide{suffix}, {inner.base};")
        source = f"%wide{suffix}"
    registers = (*inner.registers, f".reg .b64 {at}, %wide{suffix};")
    return Place(inner.variables, registers, (*lines, f"cvta.{space}.u64 {at}, {source};"), at)


def space_of(bound: Bound) -> str | None:
    """The space that a form names, without the part that says whose: `shared::cta` is `shared`."""
    space = bound.words.get("space")
    return None if space is None else space.partition("::")[0]


def policy(bound: Bound) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The cache policy that a form with a hint takes last: its operand, the registers and the lines that make it."""
    if bound.words.get("hint") is None:
        return "", (), ()
    return ", %policy", (".reg .b64 %policy;",), ("createpolicy.fractional.L2::evict_first.b64 %policy, 0f3F800000;",)


def vector(names: list[str]) -> str:
    """Registers as an instruction's vector operand, or as its scalar."""
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def elements(bound: Bound, letter: str, narrow: bool) -> tuple[Field, ...]:
    """The fields that a load or store moves."""
    count = _LENGTH.get(bound.words.get("vec", ""), 1)
    return tuple(Field(f"{letter}{index}", bound.words["type"], narrow) for index in range(count))


def load(bound: Bound) -> Body:
    """A test of `ld`."""
    space = space_of(bound)
    if space == "param":
        return _load_parameter(bound)
    sources = elements(bound, "e", narrow=True)
    spaces = (_GLOBAL if is_global(bound) else _LOADED) if space is None else (space,)
    outputs: list[Field] = []
    hint, declared, made = policy(bound)
    lines: list[str] = [*made]
    variables: list[str] = []
    registers: list[str] = [*declared]
    for index, where in enumerate(spaces):
        results = elements(bound, f"d{where[0]}" if space is None else "d", narrow=False)
        outputs += results
        taken = vector([f"%{field.name}" for field in results])
        if where == "global":
            lines.append(f"{bound.mnemonic} {taken}, [%in]{hint};")
            continue
        slot = place(where, str(index)) if space else generic(where, str(index))
        variables += slot.variables
        registers += slot.registers
        lines += slot.lines
        if where != "const":
            lines += _put(sources, "" if space is None else f".{where}", slot.base)
        lines.append(f"{bound.mnemonic} {taken}, [{slot.base}]{hint};")
    # In the row of a global load lie the loaded elements and nothing else, so that vectors are aligned.
    return Body(
        sources,
        tuple(outputs),
        tuple(lines),
        partial(rows_for_few, sources),
        tuple(registers),
        tuple(variables),
        BLOCK,
    )


def _put(fields: tuple[Field, ...], space: str, base: str) -> list[str]:
    size = fields[0].bits // 8
    return [f"st{space}.b{f.bits} [{base}+{index * size}], %{f.name};" for index, f in enumerate(fields)]


def _get(fields: tuple[Field, ...], space: str, base: str, size: int) -> list[str]:
    kind = "u" if size == 1 else "b"
    return [f"ld{space}.{kind}{8 * size} %{f.name}, [{base}+{index * size}];" for index, f in enumerate(fields)]


def _load_parameter(bound: Bound) -> Body:
    """Every thread loads the same parameter, at two places of it."""
    first, second = elements(bound, "d", narrow=False), elements(bound, "f", narrow=False)
    size = len(first) * DTYPES[bound.words["type"]].bits // 8
    lines = [
        f"{bound.mnemonic} {vector([f'%{field.name}' for field in fields])}, [extra+{offset}];"
        for fields, offset in ((first, 0), (second, size))
    ]
    value = b"".join(int(word).to_bytes(8, "little") for word in random_bits("parameter", 4))
    return Body((), (*first, *second), tuple(lines), dict, block=BLOCK, parameter=value)


def store(bound: Bound) -> Body:
    """A test of `st`."""
    space = space_of(bound)
    sources = elements(bound, "e", narrow=True)
    given = vector([f"%{field.name}" for field in sources])
    size = sources[0].bits // 8
    outputs: list[Field] = []
    hint, declared, made = policy(bound)
    lines: list[str] = [*made]
    variables: list[str] = []
    registers: list[str] = [*declared]
    by_hand: list[str] = []
    for index, where in enumerate((_GLOBAL if is_global(bound) else _STORED) if space is None else (space,)):
        results = elements(bound, f"d{where[0]}" if space is None else "d", narrow=True)
        outputs += results
        if where == "global":
            lines.append(f"{bound.mnemonic} [%out], {given}{hint};")
            by_hand += [field.name for field in results]
            continue
        slot = place(where, str(index)) if space else generic(where, str(index))
        variables += slot.variables
        registers += slot.registers
        lines += [*slot.lines, f"{bound.mnemonic} [{slot.base}], {given}{hint};"]
        lines += _get(results, "" if space is None else f".{where}", slot.base, size)
    return Body(
        sources,
        tuple(outputs),
        tuple(lines),
        partial(rows_for_few, sources),
        tuple(registers),
        tuple(variables),
        BLOCK,
        by_hand=frozenset(by_hand),
    )


def rows_for_few(fields: tuple[Field, ...]) -> Columns:
    """Two warps of random rows: what is moved is not looked at, only whether all of it arrives."""
    columns = rows_for([Field(field.name, f"b{max(field.bits, 8)}") for field in fields])
    return {name: column[-2 * BLOCK :] for name, column in columns.items()}
