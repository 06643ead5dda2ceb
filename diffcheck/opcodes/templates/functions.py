"""Functions: calls, what is stored for them, and branches by index."""

from __future__ import annotations

from functools import partial
from typing import Final

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from diffcheck.opcodes.templates.memory import BLOCK, elements, rows_for_few, vector
from py_builder_kernel.ptx.table import Bound

# Bytes of what the function of a store gives back.
_PASSED: Final = 32
_INPUTS: Final = (Field("a", "u32"), Field("p", "pred"))


def _rows() -> Columns:
    return {name: column[:128] for name, column in rows_for(_INPUTS).items()}


def call(bound: Bound) -> Body:
    """A test of `call`: a function of which some threads return early; where not `.uni`, only some threads call."""
    function = (
        ".func (.param .b32 r) $_f(.param .b32 x)\n{\n\t.reg .b32 %x;\n\t.reg .pred %odd;\n\tld.param.u32 %x, [x];\n"
        "\tst.param.b32 [r], %x;\n\tand.b32 %x, %x, 1;\n\tsetp.eq.u32 %odd, %x, 1;\n\t@%odd ret;\n"
        "\tst.param.b32 [r], 77;\n\tret;\n}"
    )
    some = "uni" not in bound.words
    lines = (
        "mov.b32 %d, 5;",
        *(("@!%p bra $_end;",) if some else ()),
        "{ .param .b32 given; .param .b32 got;",
        "st.param.b32 [given], %a;",
        f"{bound.mnemonic} (got), $_f, (given);",
        "ld.param.b32 %d, [got]; }",
        *(("$_end:",) if some else ()),
    )
    return Body(_INPUTS, (Field("d", "u32"),), lines, _rows, variables=(function,))


def store_param(bound: Bound) -> Body:
    """A test of `st.param`: what is stored for a function comes back from it."""
    sources, results = elements(bound, "e", narrow=True), elements(bound, "d", narrow=True)
    size = sources[0].bits // 8
    kind = "u" if size == 1 else "b"
    width = max(16, 8 * size)
    copies = "".join(
        f"\tld.param.{kind}{8 * size} %x, [x+{at}];\n\tst.param.b{8 * size} [r+{at}], %x;\n"
        for at in range(0, len(sources) * size, size)
    )
    function = (
        f".func (.param .align 16 .b8 r[{_PASSED}]) $_f(.param .align 16 .b8 x[{_PASSED}])\n"
        f"{{\n\t.reg .b{width} %x;\n{copies}\tret;\n}}"
    )
    given = vector([f"%{field.name}" for field in sources])
    lines = (
        f"{{ .param .align 16 .b8 given[{_PASSED}]; .param .align 16 .b8 got[{_PASSED}];",
        f"{bound.mnemonic} [given], {given};",
        "call.uni (got), $_f, (given);",
        *(f"ld.param.{kind}{8 * size} %{f.name}, [got+{i * size}];" for i, f in enumerate(results)),
        "}",
    )
    rows = partial(rows_for_few, sources)
    return Body(sources, results, lines, rows, variables=(function,), block=BLOCK)


def indexed_branch(bound: Bound) -> Body:
    """A test of `brx.idx`: three targets, one of them twice; `.uni` takes one with all threads."""
    index = "1" if "uni" in bound.words else "%which"
    lines = (
        "and.b32 %which, %a, 3;",
        "mov.b32 %d, 4;",
        "$_list: .branchtargets $_first, $_second, $_third, $_first;",
        f"{bound.mnemonic} {index}, $_list;",
        "$_first:",
        "add.u32 %d, %d, 10;",
        "bra $_end;",
        "$_second:",
        "add.u32 %d, %d, 20;",
        "$_third:",
        "add.u32 %d, %d, 40;",
        "$_end:",
    )
    return Body(_INPUTS, (Field("d", "u32"),), lines, _rows, registers=(".reg .b32 %which;",))
