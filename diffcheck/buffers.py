"""Memory for one call: guard words round every buffer, NaN in every word that no kernel may read or must write.

Each buffer is one flat array of words:

    guard | data and gaps | guard

Guards, gaps (between strides) and tails (rows past `kv_len`) hold quiet NaNs, each kind with a payload of its own. So
a kernel that reads one shows a NaN in its result, one that writes one is found by `Buffer.damage`, and an output word
that was never written still carries the poison that `unwritten` looks for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
Role = Literal["input", "output"]

GUARD_WORDS = 64
ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class Patterns:
    """The NaNs of one word size."""

    bits: npt.DTypeLike
    guard: int
    gap: int
    poison: int


PATTERNS: dict[str, Patterns] = {
    "float32": Patterns(np.uint32, guard=0x7FC0DEAD, gap=0x7FC0BAD0, poison=0x7FC0FEED),
    "float16": Patterns(np.uint16, guard=0x7EAD, gap=0x7EBA, poison=0x7EFE),
}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an array lies in a buffer: `start` from the first word past the guard, shape and strides, in elements."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def end(self) -> int:
        """One past the last element."""
        return self.start + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))

    @property
    def contiguous(self) -> bool:
        """Whether the array fills its range without gaps, in row-major order."""
        return self.strides == dense_strides(self.shape)


@dataclass(frozen=True, slots=True)
class Damage:
    """Words of one buffer that a kernel changed and must not have.

    `offset` is that of the first such word, counted from the first word past the front guard (so negative in the front
    guard); `region` says what it is; `expected` and `found` are its bits; `words` says how many were changed.
    """

    buffer: str
    offset: int
    region: str
    expected: str
    found: str
    words: int

    def __str__(self) -> str:
        return (
            f"{self.buffer}: word {self.offset} ({self.region}) was {self.expected} and is {self.found}, "
            f"{self.words} changed in all"
        )


@dataclass(eq=False)
class Buffer:
    """One flat allocation. `raw` is what an executor copies to its memory, guards included."""

    name: str
    raw: FloatArray
    role: Role
    placements: list[Placement] = field(default_factory=list)

    @property
    def patterns(self) -> Patterns:
        """The NaN patterns of this buffer's words."""
        return PATTERNS[self.raw.dtype.name]

    @property
    def words(self) -> int:
        """Words between the guards."""
        return int(self.raw.size) - 2 * GUARD_WORDS

    def place(self, start: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Placed:
        """Put an array into the buffer; raises `ValueError` if it would reach past the data words."""
        placement = Placement(start, shape, strides)
        if start < 0 or placement.end > self.words:
            raise ValueError(f"{self.name}: an array over the words {start}..{placement.end} of {self.words}")
        self.placements.append(placement)
        return Placed(self, placement)

    def damage(self, after: FloatArray | None = None) -> list[Damage]:
        """What a kernel changed and must not have: nothing, or one entry that names the first such word.

        `after` are this buffer's words as read back from a device or a machine; of an input every word must be as it
        was. None looks at the buffer itself, for a kernel that worked in place, and then only guards, gaps and tails
        are known. Raises `ValueError` if `after` has another size or dtype.
        """
        words = self.raw if after is None else after
        if words.shape != self.raw.shape or words.dtype != self.raw.dtype:
            raise ValueError(f"{self.name}: {words.dtype}{words.shape} read back for {self.raw.dtype}{self.raw.shape}")
        bits = words.view(self.patterns.bits)
        if self.role == "input" and after is not None:
            changed = np.flatnonzero(bits != self.raw.view(self.patterns.bits))
            return self._report(bits, changed)
        return self._report(bits, self._changed_outside(bits))

    def _changed_outside(self, bits: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        found = [np.flatnonzero(bits[:GUARD_WORDS] != self.patterns.guard)]
        tail = bits.size - GUARD_WORDS
        found.append(np.flatnonzero(bits[tail:] != self.patterns.guard) + tail)
        for first, words in self._gaps():
            damaged = np.flatnonzero(bits[words] != self.patterns.gap)
            found.append(damaged + first if isinstance(words, slice) else words[damaged])
        return np.sort(np.concatenate(found))

    def _gaps(self) -> Iterator[tuple[int, slice | npt.NDArray[np.intp]]]:
        """The words between the guards that belong to no array, as (index of the first, index expression)."""
        if all(p.contiguous for p in self.placements):
            # The large buffers come this way, which needs no mask as large as they are.
            at = 0
            for p in sorted(self.placements, key=lambda p: p.start):
                if p.start > at:
                    yield at + GUARD_WORDS, slice(at + GUARD_WORDS, p.start + GUARD_WORDS)
                at = max(at, p.end)
            if at < self.words:
                yield at + GUARD_WORDS, slice(at + GUARD_WORDS, self.words + GUARD_WORDS)
            return
        inside = np.zeros(self.raw.size, dtype=np.bool_)
        inside[:GUARD_WORDS] = inside[-GUARD_WORDS:] = True
        for p in self.placements:
            strided(inside, p)[...] = True
        gaps = np.flatnonzero(~inside)
        if gaps.size:
            yield int(gaps[0]), gaps

    def _report(self, bits: npt.NDArray[Any], changed: npt.NDArray[np.intp]) -> list[Damage]:
        if not changed.size:
            return []
        at = int(changed[0])
        if at < GUARD_WORDS:
            region, expected = "front guard", self.patterns.guard
        elif at >= bits.size - GUARD_WORDS:
            region, expected = "back guard", self.patterns.guard
        else:
            region, expected = "gap or tail", self.patterns.gap
            if self.role == "input":
                original = int(self.raw.view(self.patterns.bits)[at])
                region = region if original == expected else "input data"
                expected = original if region == "input data" else expected
        digits = 2 * self.raw.itemsize
        found = int(bits[at])
        return [
            Damage(
                buffer=self.name,
                offset=at - GUARD_WORDS,
                region=region,
                expected=f"0x{expected:0{digits}x}",
                found=f"0x{found:0{digits}x}",
                words=int(changed.size),
            )
        ]


@dataclass(frozen=True, eq=False)
class Placed:
    """An array in its buffer. Its address is the buffer's plus `byte_offset`, which is a multiple of 16 bytes."""

    buffer: Buffer
    placement: Placement

    @property
    def view(self) -> FloatArray:
        """The array itself, with its strides; what is written to it lands in the buffer."""
        return self.over(self.buffer.raw)

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.placement.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The array's strides, in elements as the kernels take them."""
        return self.placement.strides

    @property
    def byte_offset(self) -> int:
        """Bytes from the buffer's first word, guard included, to the array's first element."""
        return (GUARD_WORDS + self.placement.start) * self.buffer.raw.itemsize

    def over(self, raw: FloatArray) -> FloatArray:
        """The same array over another copy of the buffer's words, such as one read back."""
        if raw.shape != self.buffer.raw.shape or raw.dtype != self.buffer.raw.dtype:
            raise ValueError(f"{self.buffer.name}: {raw.dtype}{raw.shape} is no copy of the buffer")
        return strided(raw, self.placement)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides of `shape`, in elements."""
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    return tuple(reversed(strides))


def strided(raw: npt.NDArray[Any], placement: Placement) -> npt.NDArray[Any]:
    """The array that `placement` describes, over the flat words `raw` of its buffer."""
    strides = tuple(s * raw.itemsize for s in placement.strides)
    first = raw[GUARD_WORDS + placement.start :]
    return np.lib.stride_tricks.as_strided(first, placement.shape, strides)


def new_buffer(name: str, words: int, dtype: npt.DTypeLike, role: Role) -> Buffer:
    """Allocate a buffer of `words` data words, all of them gap; the first data word is aligned to 256 bytes."""
    dtype = np.dtype(dtype)
    patterns = PATTERNS[dtype.name]
    total = words + 2 * GUARD_WORDS
    spare = np.empty(total + ALIGNMENT // dtype.itemsize, dtype)
    address = spare.ctypes.data + GUARD_WORDS * dtype.itemsize
    skip = -address % ALIGNMENT // dtype.itemsize
    raw = spare[skip : skip + total]
    bits = raw.view(patterns.bits)
    bits[:GUARD_WORDS] = bits[-GUARD_WORDS:] = patterns.guard
    bits[GUARD_WORDS:-GUARD_WORDS] = patterns.gap
    return Buffer(name, raw, role)


def poison(array: FloatArray) -> None:
    """Fill `array` with the NaN that says "never written"."""
    patterns = PATTERNS[array.dtype.name]
    array[...] = np.array([patterns.poison], patterns.bits).view(array.dtype)[0]


def unwritten(array: FloatArray) -> int:
    """How many words of `array` still carry the poison: a word that nobody wrote must not pass as an expected NaN."""
    patterns = PATTERNS[array.dtype.name]
    return int(np.count_nonzero(np.ascontiguousarray(array).view(patterns.bits) == patterns.poison))
