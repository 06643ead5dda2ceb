"""What passes between the lanes of a warp and the threads of a block, and where control goes. Rules of whole tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_, or_, xor
from typing import Any, Final

import numpy as np

from diffcheck.opcodes.definitions.rows import low
from diffcheck.opcodes.fields import Bits, Columns
from diffcheck.opcodes.probe import Probe
from diffcheck.opcodes.templates.collective import ABSENT, LANES, source_lane
from py_builder_kernel.ptx.dtype import DTYPES
from py_builder_kernel.ptx.table import Bound

_FULL: Final = 2**32 - 1


def shuffle(probe: Probe) -> Columns:
    """`shfl`: the value of the source lane, or a lane's own where that lies out of range."""
    columns, mode = probe.columns, probe.bound.words["mode"]
    value, inside = np.full(probe.rows, ABSENT, np.uint64), np.zeros(probe.rows, np.uint64)
    for row in np.flatnonzero(columns["p"]):
        lane = int(row) % LANES
        source, is_inside = source_lane(mode, lane, int(columns["b"][row]), int(columns["c"][row]))
        value[row], inside[row] = columns["a"][row - lane + source], is_inside
    return {"d": value, "q": inside, "e": value}


def _by_warp(probe: Probe, rule: Callable[[list[int], list[int]], list[int]], column: Bits, absent: int) -> Bits:
    """A rule on the lanes of each warp's mask, and on what they bring; the other lanes keep what they had."""
    found = np.full(probe.rows, absent, np.uint64)
    for start in range(0, probe.rows, LANES):
        lanes = [lane for lane in range(LANES) if probe.columns["p"][start + lane]]
        results = rule(lanes, [int(column[start + lane]) for lane in lanes])
        for lane, result in zip(lanes, results, strict=True):
            found[start + lane] = result
    return found


def _voted(mode: str) -> Callable[[list[int], list[int]], list[int]]:
    def rule(lanes: list[int], votes: list[int]) -> list[int]:
        ballot = sum(1 << lane for lane, vote in zip(lanes, votes, strict=True) if vote)
        result = {"all": all(votes), "any": any(votes), "uni": len(set(votes)) == 1, "ballot": ballot}[mode]
        return [int(result)] * len(lanes)

    return rule


def vote(probe: Probe) -> Columns:
    """`vote`: over the lanes of the mask, of their predicates and of the opposites."""
    mode = probe.bound.words["mode"]
    absent = ABSENT if mode == "ballot" else 0
    a = probe.columns["a"]
    return {
        "d": _by_warp(probe, _voted(mode), a, absent),
        "e": _by_warp(probe, _voted(mode), a ^ np.uint64(1), absent),
    }


def _alike(lanes: list[int], values: list[int]) -> list[int]:
    return [sum(1 << lane for lane, value in zip(lanes, values, strict=True) if value == own) for own in values]


def _all_alike(lanes: list[int], values: list[int]) -> list[int]:
    return [sum(1 << lane for lane in lanes) if len(set(values)) == 1 else 0] * len(lanes)


def match(probe: Probe) -> Columns:
    """`match`: the lanes that bring the same value; `.all`: the whole mask, if they all do."""
    rule = _all_alike if probe.bound.words["mode"] == "all" else _alike
    column = low(probe.columns["a"], probe.body.inputs[0].bits)
    masks = _by_warp(probe, rule, column, ABSENT)
    found = {"d": masks}
    if any(field.name == "q" for field in probe.body.outputs):
        found["q"] = (probe.columns["p"] != 0).astype(np.uint64) & (masks != 0)
    return found


_REDUCTIONS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "min": min,
    "max": max,
    "and": and_,
    "or": or_,
    "xor": xor,
}


def redux(probe: Probe) -> Columns:
    """`redux`: one value of all that the lanes of the mask bring."""
    operation = _REDUCTIONS[probe.bound.words["op"]]
    is_signed = DTYPES[probe.bound.words["type"]].kind == "s"

    def rule(lanes: list[int], values: list[int]) -> list[int]:
        given = [value - (value >> 31 << 32) if is_signed else value for value in values]
        return [reduce(operation, given) & _FULL] * len(lanes)

    return {"d": _by_warp(probe, rule, low(probe.columns["a"], 32), ABSENT)}


def active(probe: Probe) -> Columns:
    """`activemask` where all lanes run."""
    return {"d": np.full(probe.rows, _FULL, np.uint64)}


def _from(probe: Probe, distance: int) -> Bits:
    """The word of the thread whose number differs by a mask."""
    return np.asarray(low(probe.columns["e"], 32)[np.arange(probe.rows) ^ distance])


def barrier(probe: Probe) -> Columns:
    """`bar` and `barrier`: what was stored before is there after."""
    words = probe.bound.words
    if "warp" in words:
        return {"d": _from(probe, 5)}
    if "red" in words:
        return _counted(probe)
    if "arrive" in words:
        own = np.arange(probe.rows) % probe.body.block < LANES
        return {"d": np.where(own, low(probe.columns["e"], 32), _from(probe, 32))}
    return {"d": _from(probe, 32), "n": low(~_from(probe, 33), 32)}


def _counted(probe: Probe) -> Columns:
    """What the threads of a block say together, of their predicates and of the opposites."""
    blocks = (probe.columns["a"] != 0).reshape(-1, probe.body.block)
    op = probe.bound.words["op"]
    found = {}
    for name, said in (("d", blocks), ("e", ~blocks)):
        yes = said.sum(axis=1)
        found[name] = (yes if op == "popc" else yes == blocks.shape[1] if op == "and" else yes > 0).astype(np.uint64)
    return {name: np.repeat(values, probe.body.block) for name, values in found.items()}


def elect(probe: Probe) -> Columns:
    """`elect`: the lowest lane of the mask leads."""
    leader = _by_warp(probe, lambda lanes, _: [lanes[0]] * len(lanes), probe.columns["p"], ABSENT)
    lane = np.arange(probe.rows, dtype=np.uint64) % np.uint64(LANES)
    return {"d": leader, "q": (leader == lane).astype(np.uint64)}


def fence(probe: Probe) -> Columns:
    """`fence` and its like: what was stored before is there after the barrier."""
    return {"d": _from(probe, 33)}


def branch(probe: Probe) -> Columns:
    """`bra`: over an addition where p holds, and 0 … 7 turns of a loop."""
    a, p = low(probe.columns["a"], 32), probe.columns["p"]
    if "uni" in probe.bound.words:
        return {"d": a, "n": np.zeros_like(a)}
    turns = a & np.uint64(7)
    d = a + (p == 0)
    for turn in range(1, 8):
        d = np.where(turns >= turn, low(d * np.uint64(5) + np.uint64(turn), 32), d)
    return {"d": low(d, 32), "n": turns}


def end(probe: Probe) -> Columns:
    """`ret` and `exit`: nothing after them happens."""
    a = low(probe.columns["a"], 32)
    ended = (probe.columns["p"] != 0) | ("uni" in probe.bound.words)
    return {"d": np.where(ended, a, low(~a, 32))}


def call(probe: Probe) -> Columns:
    """`call`: the function gives odd numbers back and 77 for even ones; without `.uni` only threads with p call."""
    a = low(probe.columns["a"], 32)
    given = np.where(a & np.uint64(1), a, np.uint64(77))
    calls = (probe.columns["p"] != 0) | ("uni" in probe.bound.words)
    return {"d": np.where(calls, given, np.uint64(5))}


def indexed_branch(probe: Probe) -> Columns:
    """`brx.idx`: targets 0 and 3 add 10, target 1 adds 20 and goes on to target 2, which adds 40."""
    which = probe.columns["a"] & np.uint64(3)
    if "uni" in probe.bound.words:
        which = np.ones_like(which)
    return {"d": np.select([which == 1, which == 2], [np.full_like(which, 64), np.full_like(which, 44)], 14)}


def _special(probe: Probe, name: str) -> Bits:
    rows = np.arange(probe.rows)
    block = probe.body.block
    lane = rows % block % LANES
    axes = {"tid": rows % block, "ntid": np.full_like(rows, block), "ctaid": rows // block}
    axes["nctaid"] = np.full_like(rows, probe.rows // block)
    kind, _, axis = name.removeprefix("s_").rpartition("_")
    if kind in axes:
        beside = 1 if kind.startswith("n") else 0
        return np.asarray(axes[kind] if axis == "x" else np.full_like(rows, beside), np.uint64)
    if name == "s_laneid":
        return np.asarray(lane, np.uint64)
    own = np.uint64(1) << lane.astype(np.uint64)
    below = own - np.uint64(1)
    sets = {"eq": own, "lt": below, "le": below | own, "gt": ~(below | own), "ge": ~below}
    return low(sets[axis], 32)


def move(probe: Probe) -> Columns:
    """`mov` of special registers, and of a variable's address: there lies what thread 2 of the block stored."""
    if probe.bound.form.operands[-1] == "name":
        rows = np.arange(probe.rows)
        return {"d": low(probe.columns["e"], 32)[rows - rows % probe.body.block + 2]}
    if probe.body.outputs[0].name == "later":
        return {"later": np.ones(probe.rows, np.uint64)}
    return {field.name: _special(probe, field.name) for field in probe.body.outputs}


RULES: Final[Mapping[str, Callable[[Probe], Any]]] = {
    "shfl": shuffle,
    "vote": vote,
    "match": match,
    "redux": redux,
    "activemask": active,
    "elect": elect,
    "bar": barrier,
    "barrier": barrier,
    "fence": fence,
    "membar": fence,
    "griddepcontrol": fence,
    "bra": branch,
    "brx": indexed_branch,
    "call": call,
    "ret": end,
    "exit": end,
    "mov": move,
}


def covers(bound: Bound) -> bool:
    """Every form of these opcodes, but `mov` between registers."""
    return bound.form.opcode != "mov" or bound.form.operands[-1] in ("sreg", "name")
