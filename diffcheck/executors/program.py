"""What an executor runs: memory and an ordered list of launches, the same for every executor.

An arm states its launches here once. Executors differ only in how memory is made and how a kernel is started.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from diffcheck.buffers import Buffer, Placed
from diffcheck.generators import CaseInputs, Inputs, decode_inputs
from diffcheck.layouts import Outputs

Dim3: TypeAlias = tuple[int, int, int]
# The words of a buffer, guards included: 1-D, f32 or f16.
Raw: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Address:
    """A kernel argument: the address of an array's first element (`.u64`)."""

    array: Placed


@dataclass(frozen=True)
class Word:
    """A kernel argument: an integer of the given PTX type."""

    type: Literal["u32", "u64"]
    value: int


Arg: TypeAlias = Address | Word


@dataclass(frozen=True)
class Step:
    """One kernel launch.

    `programmatic`: it may start before the launch before it on the stream has completed, as its kernel waits for that
    (programmatic dependent launch; `executors/programmatic.py`).
    """

    entry: str
    grid: Dim3
    block: Dim3
    dynamic_shared: int
    args: tuple[Arg, ...]
    programmatic: bool = False


@dataclass(frozen=True)
class Region:
    """A buffer of a program and what kernels may do to it.

    `first` and `end` bound, in elements of the buffer, what the program's arrays span: outside lie only guard words.
    `role` is `input` (only read), `output` (written; the first result of a chain is read then) or `scratch` (written by
    one launch, read by a later one).
    """

    buffer: Buffer
    role: Literal["input", "output", "scratch"]
    first: int
    end: int

    @property
    def live(self) -> Raw:
        """The part of the buffer that a kernel may touch."""
        live: Raw = self.buffer.raw[self.first : self.end]
        return live

    def whole(self, live: Raw) -> Raw:
        """Return the buffer's words with the live part replaced."""
        words: Raw = self.buffer.raw.copy()
        words[self.first : self.end] = live
        return words


@dataclass(frozen=True)
class Program:
    """A PTX module, its memory and its launches in order."""

    name: str
    ptx: str
    inputs: CaseInputs
    outputs: Outputs
    steps: tuple[Step, ...]

    @property
    def decode_inputs(self) -> Inputs:
        """q, K and V. Raises `TypeError` for a program that only merges partials."""
        return decode_inputs(self.inputs, self.name)

    def regions(self) -> tuple[Region, ...]:
        """Return every buffer that the launches address, each once, in the order of their first use."""
        inputs = [buffer.name for buffer in self.inputs.buffers]
        results = [array.buffer.name for array in self.outputs.results]
        arrays: dict[str, list[Placed]] = {}
        for step in self.steps:
            for arg in step.args:
                if isinstance(arg, Address):
                    arrays.setdefault(arg.array.buffer.name, []).append(arg.array)
        regions: list[Region] = []
        for name, placed in arrays.items():
            role: Literal["input", "output", "scratch"]
            role = "input" if name in inputs else "output" if name in results else "scratch"
            first = min(first_of(array) for array in placed)
            regions.append(Region(placed[0].buffer, role, first, max(end_of(array) for array in placed)))
        return tuple(regions)


@dataclass(frozen=True)
class Outcome:
    """What one run of an arm left behind.

    `out` is the f32 result `[num_q_heads, D]`; `memory` holds the words of every buffer after the run by name (empty
    for an arm that owns its memory). `seconds` is host time; `instructions` is the machine's count of executed warp
    instructions, None elsewhere.
    """

    out: npt.NDArray[np.float32]
    memory: Mapping[str, Raw]
    seconds: float
    instructions: int | None = None


def first_of(array: Placed) -> int:
    """Return the index in its buffer's words of an array's first element."""
    return array.byte_offset // array.buffer.raw.itemsize


def end_of(array: Placed) -> int:
    """Return the index in its buffer's words just past an array's last element."""
    return first_of(array) + array.placement.end - array.placement.start
