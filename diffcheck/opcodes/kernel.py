"""The text of a test: a kernel in which thread t takes row t, runs the form once or more, and stores what it gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from diffcheck.opcodes.fields import Columns, Field, Layout


@dataclass(frozen=True)
class Body:
    """What a template makes of a form.

    `lines` are instructions that read the registers of `inputs` and write those of `outputs`; `%t` is the row, `%in`
    and `%out` are the addresses of its inputs and outputs. `registers` declare what else the lines use, `variables`
    stand before the kernel. In both `$` stands for the kernel's name. `rows` gives the input columns, all equally long,
    a multiple of `block`. `parameter` is the value of a third kernel parameter, `.param .align 16 .b8 extra[N]`.
    """

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    lines: tuple[str, ...]
    rows: Callable[[], Columns]
    registers: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    block: int = 64
    parameter: bytes = b""
    # Inputs that the lines load, and outputs that they store, themselves.
    by_hand: frozenset[str] = frozenset()


def entry_text(name: str, title: str, body: Body) -> str:
    """The text of one kernel, with the variables that it needs before it."""
    inputs, outputs = Layout.of(body.inputs), Layout.of(body.outputs)
    lines = [
        *_declarations(body),
        "ld.param.u64 %in, [inputs];",
        "ld.param.u64 %out, [outputs];",
        "mov.u32 %t, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
        "mov.u32 %threads, %ntid.x;",
        "mad.lo.u32 %t, %block, %threads, %t;",
        f"mad.wide.u32 %in, %t, {inputs.stride}, %in;",
        f"mad.wide.u32 %out, %t, {outputs.stride}, %out;",
        *_loads(inputs, body.by_hand),
        *body.lines,
        *_stores(outputs, body.by_hand),
        "ret;",
    ]
    parameters = [".param .u64 inputs", ".param .u64 outputs"]
    if body.parameter:
        parameters.append(f".param .align 16 .b8 extra[{len(body.parameter)}]")
    text = "\n".join(line if line.endswith(":") else f"\t{line}" for line in lines)
    variables = "".join(f"{variable}\n" for variable in body.variables).replace("$", name)
    text = text.replace("$", name)
    return f"// {title}\n{variables}.visible .entry {name}({', '.join(parameters)})\n{{\n{text}\n}}\n"


def module_text(version: str, target: str, entries: Sequence[str]) -> str:
    """A module of several kernels."""
    header = f"// Written by `diffcheck opcodes write`.\n.version {version}\n.target {target}\n.address_size 64\n"
    return header + "".join(f"\n{entry}" for entry in entries)


def _declarations(body: Body) -> list[str]:
    named = [(field.register, f"%{field.name}") for field in (*body.inputs, *body.outputs)]
    named += [("b32", "%t"), ("b32", "%block"), ("b32", "%threads"), ("b64", "%in"), ("b64", "%out")]
    if any(field.type == "pred" for field in (*body.inputs, *body.outputs)):
        named.append(("b32", "%word"))
    by_type: dict[str, list[str]] = {}
    for register, name in named:
        by_type.setdefault(register, []).append(name)
    return [*(f".reg .{register} {', '.join(names)};" for register, names in by_type.items()), *body.registers]


def _loads(layout: Layout, by_hand: frozenset[str]) -> list[str]:
    lines = []
    for item, offset in zip(layout.fields, layout.offsets, strict=True):
        if item.name not in by_hand:
            lines += _load(item, offset)
    return lines


def _load(item: Field, offset: int) -> list[str]:
    if item.type == "pred":
        return [f"ld.global.u8 %word, [%in+{offset}];", f"setp.ne.u32 %{item.name}, %word, 0;"]
    return [f"ld.global.{'u' if item.bits == 8 else 'b'}{item.bits} %{item.name}, [%in+{offset}];"]


def _stores(layout: Layout, by_hand: frozenset[str]) -> list[str]:
    lines = []
    for item, offset in zip(layout.fields, layout.offsets, strict=True):
        if item.name not in by_hand:
            lines += _store(item, offset)
    return lines


def _store(item: Field, offset: int) -> list[str]:
    if item.type == "pred":
        return [f"selp.u32 %word, 1, 0, %{item.name};", f"st.global.u8 [%out+{offset}], %word;"]
    return [f"st.global.b{item.bits} [%out+{offset}], %{item.name};"]
