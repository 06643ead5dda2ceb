"""Shuffles, votes and their like: every warp has a mask of its own, and the lanes outside it take no part."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from diffcheck.opcodes.fields import Bits, Field
from diffcheck.opcodes.kernel import Body
from diffcheck.opcodes.operands.stream import random_below, random_bits
from py_builder_kernel.ptx.table import Bound

LANES: Final = 32
_WARPS: Final = 16
_FULL: Final = 0xFFFFFFFF
# Lanes outside the mask of their warp keep this.
ABSENT: Final = 0x0BAD1DEA


def masks() -> Bits:
    """The mask of each warp: all lanes, one lane, halves, alternating ones, and random ones."""
    chosen = [_FULL] * 6 + [1, 0x80000000, 0xFFFF, 0xFFFF0000, 0x55555555, 0xFFFFFFFE]
    drawn = random_bits("masks", _WARPS - len(chosen)) | np.uint64(1)
    return np.concatenate([np.array(chosen, np.uint64), drawn & np.uint64(_FULL)])


def membership() -> dict[str, Bits]:
    """The columns `m`, each lane's mask, and `p`, whether the lane is in it."""
    lane = np.tile(np.arange(LANES, dtype=np.uint64), _WARPS)
    mask = np.repeat(masks(), LANES)
    return {"m": mask, "p": np.asarray(mask >> lane & np.uint64(1))}


_MEMBERS: Final = (Field("m", "b32"), Field("p", "pred"))


def shuffle(bound: Bound) -> Body:
    """A test of `shfl`: each lane has a value, a distance or lane, and a clamp with segments of its own."""
    inputs = (Field("a", "b32"), Field("b", "u32"), Field("c", "u32"), *_MEMBERS)
    outputs = (Field("d", "b32"), Field("q", "pred"), Field("e", "b32"))
    lines = (
        f"mov.b32 %d, {ABSENT};",
        f"mov.b32 %e, {ABSENT};",
        "setp.ne.u32 %q, 0, 0;",
        f"@%p {bound.mnemonic} %d|%q, %a, %b, %c, %m;",
        f"@%p {bound.mnemonic} %e, %a, %b, %c, %m;",
    )
    return Body(inputs, outputs, lines, partial(_shuffled, bound.words["mode"]), block=2 * LANES)


def source_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that `shfl` reads, and whether it lies in range (PTX ISA, `shfl.sync`, its pseudocode)."""
    distance, clamp, segment = b & 31, c & 31, c >> 8 & 31
    limit = (lane & segment) | (clamp & ~segment & 31)
    lowest = lane & segment
    if mode == "up":
        source, inside = lane - distance, lane - distance >= limit
    elif mode == "down":
        source, inside = lane + distance, lane + distance <= limit
    elif mode == "bfly":
        source, inside = lane ^ distance, lane ^ distance <= limit
    else:
        source, inside = lowest | (distance & ~segment & 31), (lowest | (distance & ~segment & 31)) <= limit
    return (source, True) if inside else (lane, False)


def _shuffled(mode: str) -> dict[str, Bits]:
    """Rows in which no lane reads one outside its warp's mask, as what comes from there is unspecified."""
    count = _WARPS * LANES
    columns = membership()
    a = random_bits("shuffle a", count) & np.uint64(_FULL)
    c = np.where(
        np.arange(count) % 3 == 0, random_bits("shuffle c", count) & np.uint64(0x1F1F), np.uint64(_clamp(mode))
    )
    draws = random_bits("shuffle b", count * 32).reshape(count, 32) & np.uint64(_FULL)
    # Most distances are small, some have bits that do not count.
    draws = np.where(np.arange(32) % 4 == 3, draws, draws % np.uint64(34))
    b = np.array(
        [_distance(mode, row % LANES, draws[row], int(c[row]), int(columns["m"][row])) for row in range(count)],
        np.uint64,
    )
    return {"a": a, "b": b, "c": c, **columns}


def _clamp(mode: str) -> int:
    return 0 if mode == "up" else 31


def _distance(mode: str, lane: int, draws: Bits, c: int, mask: int) -> int:
    for draw in draws:
        source, _ = source_lane(mode, lane, int(draw), c)
        if mask >> source & 1:
            return int(draw)
    return lane if mode == "idx" and c >> 8 & 31 == 0 else 0


def vote(bound: Bound) -> Body:
    """A test of `vote`: predicates with all, none, one and some lanes true, plain and negated."""
    kind = bound.dtype("out:type").name
    inputs = (Field("a", "pred"), *_MEMBERS)
    outputs = (Field("d", kind), Field("e", kind))
    clear = [f"setp.ne.u32 %{name}, 0, 0;" if kind == "pred" else f"mov.b32 %{name}, {ABSENT};" for name in "de"]
    lines = (*clear, f"@%p {bound.mnemonic} %d, %a, %m;", f"@%p {bound.mnemonic} %e, !%a, %m;")
    return Body(inputs, outputs, lines, _voted, block=2 * LANES)


def _voted() -> dict[str, Bits]:
    count = _WARPS * LANES
    kind = np.repeat(np.arange(_WARPS) % 4, LANES)
    one = np.arange(count, dtype=np.uint64) % np.uint64(LANES) == np.uint64(9)
    some = random_bits("vote", count) & np.uint64(1)
    a = np.select([kind == 0, kind == 1, kind == 2], [np.ones(count), np.zeros(count), one], some).astype(np.uint64)
    return {"a": a, **membership()}


def active(bound: Bound) -> Body:
    """A test of `activemask` where all lanes of a warp run: PTX promises nothing about lanes that parted."""
    return Body((), (Field("d", "b32"),), (f"{bound.mnemonic} %d;",), dict, block=2 * LANES)


def elect(bound: Bound) -> Body:
    """A test of `elect`: which lane of each mask leads."""
    outputs = (Field("d", "b32"), Field("q", "pred"))
    lines = (f"mov.b32 %d, {ABSENT};", "setp.ne.u32 %q, 0, 0;", f"@%p {bound.mnemonic} %d|%q, %m;")
    return Body(_MEMBERS, outputs, lines, membership, block=2 * LANES)


def one_value(bound: Bound) -> Body:
    """A test of `match` and `redux`: the lanes of a mask bring values, a few of them alike."""
    source = next(word for word in bound.form.operands if word.startswith("in:"))
    inputs = (Field("a", bound.dtype(source).name), *_MEMBERS)
    result = Field("d", bound.dtype(bound.form.operands[0]).name)
    pair = any(word.startswith("|") for word in bound.form.operands)
    outputs = (result, Field("q", "pred")) if pair else (result,)
    clear = [f"mov.b{result.bits} %d, {ABSENT};", *(["setp.ne.u32 %q, 0, 0;"] if pair else [])]
    lines = (*clear, f"@%p {bound.mnemonic} %d{'|%q' if pair else ''}, %a, %m;")
    return Body(inputs, outputs, lines, partial(_alike, inputs[0].bits), block=2 * LANES)


def _alike(bits: int) -> dict[str, Bits]:
    count = _WARPS * LANES
    warp = np.repeat(np.arange(_WARPS), LANES)
    words = random_bits("alike", count)
    few = random_below("few", count, 5)
    same = np.repeat(random_bits("same", _WARPS), LANES)
    a = np.select([warp % 3 == 0, warp % 3 == 1], [words, few], same)
    return {"a": np.asarray(a & np.uint64(2**bits - 1), np.uint64), **membership()}
