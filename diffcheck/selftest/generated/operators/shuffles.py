"""Shuffles and votes: their mode, lane, segment and the lanes that take part."""

from __future__ import annotations

from collections.abc import Iterator

from diffcheck.selftest.generated.flow import Flow
from diffcheck.selftest.generated.operators.base import Change, become, operator
from diffcheck.selftest.generated.ptx_text import Statement

_MODES = ("bfly", "idx", "down", "up")
# The last lane of a segment is its clamp; above it stands the mask of a segment's bits.
_HALF_WARPS = (16 << 8) | 31


def _is_shuffle(statement: Statement) -> bool:
    return statement.opcode == "shfl" and len(statement.operands) == 5


@operator("shuffle-mode", "a shuffle takes its values by another rule")
def _mode(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if _is_shuffle(statement):
        old = next(part for part in statement.parts if part in _MODES)
        for mode in _MODES:
            if mode != old:
                mnemonic = ".".join(mode if part == old else part for part in statement.parts)
                yield become(statement, f"{old} -> {mode}", statement.written(mnemonic=mnemonic))


@operator("shuffle-lane", "a shuffle takes another lane's value")
def _lane(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if not (_is_shuffle(statement) and statement.operands[2].isdigit()):
        return
    lane = int(statement.operands[2])
    for other in sorted({lane + 1, lane - 1, 2 * lane, lane // 2} - {lane}):
        if 0 <= other < 32:
            yield become(statement, f"{lane} -> {other}", statement.with_operand(2, str(other)))


@operator("shuffle-segment", "a shuffle stays within a part of the warp")
def _segment(_flow: Flow, statement: Statement) -> Iterator[Change]:
    if _is_shuffle(statement) and statement.operands[3].isdigit():
        for other in (30, 15, _HALF_WARPS):
            yield become(statement, f"{statement.operands[3]} -> {other}", statement.with_operand(3, str(other)))


@operator("lane-mask", "a lane is missing from those that a shuffle, vote or warp barrier waits for")
def _mask(_flow: Flow, statement: Statement) -> Iterator[Change]:
    warp_wide = statement.opcode in ("shfl", "vote") or statement.mnemonic == "bar.warp.sync"
    if warp_wide and statement.operands[-1] in ("-1", "4294967295", "0xffffffff"):
        for missing in (0, 31):
            mask = 0xFFFFFFFF ^ (1 << missing)
            yield become(statement, f"lane {missing}", statement.with_operand(len(statement.operands) - 1, str(mask)))
