"""Where buffers lie on the device, drawn anew as often as asked.

The same kernels on the same values take up to one percent more or less time by where their buffers lie: addresses
decide which channels and which half of the L2 serve an access. A layout that stays for a whole run is part of what that
run measures, and the next run differs by it. Times over many layouts favour none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from diffcheck.executors.program import Program
from diffcheck.timing.sets import DeviceSets, rotated_names

if TYPE_CHECKING:
    from diffcheck.buffers import Buffer

STEP = 512
"""Addresses are multiples of so many bytes, as those of CuPy's and PyTorch's allocators."""
ROOM_SHARE = 8
MIN_ROOM = 64 << 20


def room_for(sizes: Sequence[int]) -> int:
    """Return how many bytes buffers of these sizes need to lie in many different ways."""
    used = sum(_steps(size) for size in sizes) * STEP
    return used + max(MIN_ROOM, used // ROOM_SHARE // STEP * STEP)


def draw_offsets(sizes: Sequence[int], room: int, rng: np.random.Generator) -> list[int]:
    """Return where buffers of `sizes` bytes start in `room` bytes: in random order, with random gaps, none overlapping.

    Raises `ValueError` when they do not fit.
    """
    steps = [_steps(size) for size in sizes]
    free = room // STEP - sum(steps)
    if free < 0:
        raise ValueError(f"room: {room} bytes; {sum(steps) * STEP} are needed")
    offsets = [0] * len(sizes)
    taken = 0
    gaps = np.sort(rng.integers(0, free + 1, len(sizes)))
    for gap, index in zip(gaps.tolist(), rng.permutation(len(sizes)).tolist(), strict=True):
        offsets[index] = (gap + taken) * STEP
        taken += steps[index]
    return offsets


class Arena:
    """One piece of device memory in which the buffers of several programs lie.

    K and V are there `sets` times, and programs that read the same ones share them. Every program has q, scratch and
    output of its own, shared by its sets, as in use. Raises CuPy's error when the device has no room.
    """

    def __init__(self, programs: Mapping[str, Program], sets: int, rng: np.random.Generator) -> None:
        import cupy

        self._programs = programs
        self._sets = sets
        self._rng = rng
        self._slots: dict[tuple[int, int | str], int] = {}
        self._contents: list[Any] = []
        uploaded: dict[int, Any] = {}
        for name, program in programs.items():
            for buffer, copy in self._buffers(name, program):
                slot = (id(buffer), copy)
                if slot not in self._slots:
                    self._slots[slot] = len(self._contents)
                    if id(buffer) not in uploaded:
                        uploaded[id(buffer)] = cupy.asarray(buffer.raw.view(np.uint8))
                    self._contents.append(uploaded[id(buffer)])
        self._sizes = [int(content.nbytes) for content in self._contents]
        self._memory = cupy.empty(room_for(self._sizes), dtype=np.uint8)

    def place(self) -> dict[str, DeviceSets]:
        """Draw a layout, copy every buffer to its place, and return each program's sets. Earlier sets are void."""
        import cupy

        offsets = draw_offsets(self._sizes, int(self._memory.nbytes), self._rng)
        placed: list[Any] = []
        for content, offset, size in zip(self._contents, offsets, self._sizes, strict=True):
            view = self._memory[offset : offset + size]
            view[...] = content
            placed.append(view)
        # Graphs run on streams that do not wait for this one.
        cupy.cuda.get_current_stream().synchronize()
        return {name: self._sets_of(name, program, placed) for name, program in self._programs.items()}

    def _sets_of(self, name: str, program: Program, placed: Sequence[Any]) -> DeviceSets:
        arrays: list[dict[str, Any]] = [{} for _ in range(self._sets)]
        rotated = rotated_names(program)
        for region in program.regions():
            buffer = region.buffer
            for index, one in enumerate(arrays):
                copy = index if buffer.name in rotated else name
                one[buffer.name] = placed[self._slots[id(buffer), copy]]
        bases = tuple({key: int(array.data.ptr) for key, array in one.items()} for one in arrays)
        return DeviceSets(bases, tuple(arrays))

    def _buffers(self, name: str, program: Program) -> list[tuple[Buffer, int | str]]:
        """Return each buffer of a program once a copy, with what tells the copies apart."""
        rotated = rotated_names(program)
        found: list[tuple[Buffer, int | str]] = []
        for region in program.regions():
            copies: Sequence[int | str] = range(self._sets) if region.buffer.name in rotated else [name]
            found += [(region.buffer, copy) for copy in copies]
        return found


def _steps(size: int) -> int:
    return -(-size // STEP)
