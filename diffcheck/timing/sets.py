"""Sets of buffers on the device, more than fit in its L2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diffcheck.cases import Case
from diffcheck.executors.program import Program
from diffcheck.generators import Inputs, stream_rng
from diffcheck.layouts import allocate_inputs

L2_MULTIPLE = 100
"""Of what is read again and again, so much more than the L2 holds, at most a hundredth can be found there, by any rule
of what it keeps. Kernels that mark their lines to be evicted first leave older ones in it: with copies of eight times
the L2 they read 0.5 % faster than with those of a hundred.
"""
MIN_SETS = 2
ROUND_SETS = 10
# Keys that are drawn; longer contexts repeat them, as times do not depend on the values.
DRAWN_KEYS = 4096


@dataclass(frozen=True)
class DeviceSets:
    """`bases[i]` maps buffer names to device addresses of set i; `arrays` keeps the memory alive."""

    bases: tuple[dict[str, int], ...]
    arrays: tuple[dict[str, Any], ...]


def timing_inputs(case: Case) -> Inputs:
    """Make inputs of a case for timing: N(0, 1), of which the first `DRAWN_KEYS` keys are repeated."""
    placed = allocate_inputs(case)
    placed.q.view[...] = stream_rng(case, "timing-q").standard_normal(placed.q.shape, dtype=np.float32)
    for name, array in (("k", placed.k), ("v", placed.v)):
        drawn = min(case.kv_len, DRAWN_KEYS)
        block = stream_rng(case, f"timing-{name}").standard_normal((drawn, *array.shape[1:]), dtype=np.float32)
        view = array.view
        for first in range(0, case.kv_len, drawn):
            part = view[first : first + drawn]
            part[...] = block[: part.shape[0]]
    return Inputs(case, case.storage, placed.q, placed.k, placed.v, None)


def count_sets(kv_bytes: int, l2_bytes: int) -> int:
    """Return how many copies of K and V exceed the L2 `L2_MULTIPLE` times, a round number where they are many.

    A graph has whole passes over them, of which others are to be whole parts.
    """
    sets = max(MIN_SETS, -(-L2_MULTIPLE * l2_bytes // kv_bytes))
    return sets if sets < ROUND_SETS else -(-sets // ROUND_SETS) * ROUND_SETS


def rotated_names(program: Program) -> set[str]:
    """Return the names of the buffers that each set has of its own: those of K and V."""
    inputs = program.decode_inputs
    return {inputs.k.buffer.name, inputs.v.buffer.name}


def upload(program: Program, sets: int) -> DeviceSets:
    """Copy K and V `sets` times to the device; q, scratch and output are shared by all sets, as in use."""
    import cupy

    rotated = rotated_names(program)
    shared = {
        region.buffer.name: cupy.asarray(region.buffer.raw)
        for region in program.regions()
        if region.buffer.name not in rotated
    }
    kept: list[dict[str, Any]] = []
    for _ in range(sets):
        if kept:
            copies = {name: kept[0][name].copy() for name in rotated}
        else:
            copies = {
                buffer.name: cupy.asarray(buffer.raw)
                for buffer in program.decode_inputs.buffers
                if buffer.name in rotated
            }
        kept.append({**shared, **copies})
    bases = tuple({name: int(array.data.ptr) for name, array in one.items()} for one in kept)
    return DeviceSets(bases, tuple(kept))
