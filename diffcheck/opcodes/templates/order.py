"""Barriers and fences: threads pass words to each other through shared memory, ordered by the form under test."""

from __future__ import annotations

from typing import Final

import numpy as np

from diffcheck.opcodes.fields import Columns, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.columns import rows_for
from py_builder_kernel.ptx.table import Bound

_BLOCK: Final = 64
_DATA: Final = (Field("e", "b32"),)
_TILE: Final = f".shared .align 16 .b32 $_tile[{_BLOCK}];"
_REGISTERS: Final = (".reg .b32 %number, %mine, %other, %base, %lane;", ".reg .pred %first;")
# Each thread's word of the tile, and the address of the word of the thread that `other` names.
_ADDRESSES: Final = (
    "mov.u32 %number, %tid.x;",
    "mov.u32 %base, $_tile;",
    "mad.lo.u32 %mine, %number, 4, %base;",
)


def _rows() -> Columns:
    return {name: column[: 2 * _BLOCK] for name, column in rows_for(_DATA).items()}


def _body(lines: list[str], outputs: tuple[Field, ...] = (Field("d", "b32"),)) -> Body:
    return Body(_DATA, outputs, (*_ADDRESSES, *lines), _rows, _REGISTERS, (_TILE,), _BLOCK)


def _partner(mask: int, result: str) -> list[str]:
    """Load the word of the thread whose number differs by `mask`."""
    return [
        f"xor.b32 %other, %number, {mask};",
        "mad.lo.u32 %other, %other, 4, %base;",
        f"ld.shared.b32 %{result}, [%other];",
    ]


def barrier(bound: Bound) -> Body:
    """A test of `bar` and `barrier`: a word goes to the other warp (to another lane for `bar.warp`)."""
    if "warp" in bound.words:
        return _body(["st.shared.b32 [%mine], %e;", f"{bound.mnemonic} 0xffffffff;", *_partner(5, "d")])
    if "arrive" in bound.words:
        return _arrival(bound)
    if "red" in bound.words:
        return _count(bound)
    lines = ["st.shared.b32 [%mine], %e;", f"{bound.mnemonic} 0;", *_partner(32, "d")]
    # Again, with a number of threads: barrier 3, after a plain barrier that keeps the tile from being written early.
    lines += ["bar.sync 0;", "not.b32 %lane, %e;", "st.shared.b32 [%mine], %lane;", f"{bound.mnemonic} 3, {_BLOCK};"]
    lines += _partner(33, "n")
    return _body(lines, (Field("d", "b32"), Field("n", "b32")))


def _count(bound: Bound) -> Body:
    """Predicates of a block with all, none, and some true, plain and negated."""
    kind = bound.dtype("out:type").name
    count = f"{_BLOCK}, " if bound.form.operands.count("in:u32") == 2 else ""
    lines = tuple(f"{bound.mnemonic} %{name}, 0, {count}{given};" for name, given in (("d", "%a"), ("e", "!%a")))
    return Body((Field("a", "pred"),), (Field("d", kind), Field("e", kind)), lines, _predicates, block=_BLOCK)


def _predicates() -> Columns:
    number = np.arange(4 * _BLOCK, dtype=np.uint64)
    some = np.where(number // np.uint64(_BLOCK) == 2, number % np.uint64(5) == 0, number == np.uint64(4 * _BLOCK - 1))
    a = np.select([number < _BLOCK, number < 2 * _BLOCK], [np.ones(number.size), np.zeros(number.size)], some)
    return {"a": a.astype(np.uint64)}


def _arrival(bound: Bound) -> Body:
    """The first warp writes and arrives, the second waits and reads; the first keeps its own word."""
    kind = "barrier" if bound.form.opcode == "barrier" else "bar"
    aligned = ".aligned" if kind == "barrier" and "aligned" in bound.words else ""
    lines = [
        "mov.b32 %d, %e;",
        "setp.lt.u32 %first, %number, 32;",
        "@!%first bra $_wait;",
        "st.shared.b32 [%mine], %e;",
        f"{bound.mnemonic} 1, {_BLOCK};",
        "bra $_end;",
        "$_wait:",
        f"{kind}.sync{aligned} 1, {_BLOCK};",
        *_partner(32, "d"),
        "$_end:",
    ]
    return _body(lines)


def fence(bound: Bound) -> Body:
    """A test of fences: that they are accepted and let what they order through; a barrier makes the order certain."""
    return _body(["st.shared.b32 [%mine], %e;", f"{bound.mnemonic};", "bar.sync 0;", *_partner(33, "d")])
