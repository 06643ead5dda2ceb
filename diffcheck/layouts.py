"""How q, K, V and the outputs of a case lie in memory: a registry of layouts.

A layout is a function that allocates the input buffers of a shape and places q, K and V in them. Adding one is one
function with `@_layout`. All keep what the contract asks: inner stride 1, all other strides and every base address
multiples of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from diffcheck.buffers import Buffer, Placed, dense_strides, new_buffer, poison
from diffcheck.cases import Case, Storage
from diffcheck.errors import choose

TAIL_ROWS = 3
"""Rows of K and V past `kv_len` that the buffers hold, all NaN: the rest of a cache that is not yet full."""

OVERLAPPING_LAYOUTS = ("shared-head", "shared-row")
"""Layouts with a stride of 0, in which what is written last to a word is what all see."""

DTYPES: dict[Storage, type[np.float32 | np.float16]] = {"f32": np.float32, "f16": np.float16}


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that a layout needs."""

    num_q_heads: int
    num_kv_heads: int
    head_dim: int
    kv_len: int
    storage: Storage

    @property
    def rows(self) -> int:
        """Rows of K and V that the memory holds."""
        return self.kv_len + TAIL_ROWS

    @property
    def q(self) -> tuple[int, int]:
        """The shape of q and out."""
        return self.num_q_heads, self.head_dim

    @property
    def kv(self) -> tuple[int, int, int]:
        """The shape of K and V."""
        return self.kv_len, self.num_kv_heads, self.head_dim


@dataclass(frozen=True, slots=True)
class PlacedInputs:
    """q, K and V of one call."""

    q: Placed
    k: Placed
    v: Placed

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that hold them, each once."""
        return tuple(dict.fromkeys(placed.buffer for placed in (self.q, self.k, self.v)))


@dataclass(frozen=True, slots=True)
class Outputs:
    """Output and scratch of a case, poisoned. `part_m` and `part_s` are `[num_q_heads, n_splits]`, `part_acc` has
    `head_dim` besides; all three are dense and of exactly the size that a call needs. `next_q` is the first result of a
    chain, which the second decode takes as its q.
    """

    out: Placed
    part_m: Placed
    part_s: Placed
    part_acc: Placed
    next_q: Placed | None = None

    @property
    def results(self) -> tuple[Placed, ...]:
        """Where each decode's result goes, in order."""
        return (self.out,) if self.next_q is None else (self.next_q, self.out)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers, each of one array."""
        arrays = (*self.results, self.part_m, self.part_s, self.part_acc)
        return tuple(array.buffer for array in arrays)


Layout = Callable[[Shape], PlacedInputs]
_LAYOUTS: dict[str, Layout] = {}


def layouts() -> tuple[str, ...]:
    """The names of all layouts."""
    return tuple(_LAYOUTS)


def allocate_inputs(case: Case, storage: Storage | None = None) -> PlacedInputs:
    """Allocate q, K and V in the layout of `case`, every word still gap; `storage` overrides that of the case."""
    choose("layout", case.layout, layouts())
    shape = Shape(case.num_q_heads, case.num_kv_heads, case.head_dim, case.kv_len, storage or case.storage)
    return _LAYOUTS[case.layout](shape)


def allocate_outputs(case: Case, n_splits: int) -> Outputs:
    """Allocate output and scratch for `n_splits` splits, all poisoned. The layout "padded" also spreads the output."""
    heads, dim = case.num_q_heads, case.head_dim
    stride = dim + 20 if case.layout == "padded" else dim
    return Outputs(
        out=_output("out", (heads, dim), (stride, 1)),
        part_m=_output("part_m", (heads, n_splits)),
        part_s=_output("part_s", (heads, n_splits)),
        part_acc=_output("part_acc", (heads, n_splits, dim)),
        next_q=_output("next_q", (heads, dim), (stride, 1)) if case.stage == "chain" else None,
    )


def allocate_partials(case: Case, n_splits: int) -> tuple[Placed, Placed, Placed]:
    """Allocate `part_m`, `part_s` and `part_acc` as inputs of the reduce kernel, every word still gap."""
    pairs = (case.num_q_heads, n_splits)

    def dense(name: str, shape: tuple[int, ...]) -> Placed:
        words = prod(shape)
        return new_buffer(name, words, np.float32, "input").place(0, shape, dense_strides(shape))

    return dense("part_m", pairs), dense("part_s", pairs), dense("part_acc", (*pairs, case.head_dim))


def _output(name: str, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Placed:
    strides = strides or dense_strides(shape)
    words = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    placed = new_buffer(name, words, np.float32, "output").place(0, shape, strides)
    poison(placed.view)
    return placed


def _layout(name: str) -> Callable[[Layout], Layout]:
    def register(layout: Layout) -> Layout:
        _LAYOUTS[name] = layout
        return layout

    return register


def _own_buffer(name: str, shape: Shape, words: int, strides: tuple[int, int, int]) -> Placed:
    return new_buffer(name, words, DTYPES[shape.storage], "input").place(0, shape.kv, strides)


def _dense_q(shape: Shape) -> Placed:
    heads, dim = shape.q
    return new_buffer("q", heads * dim, np.float32, "input").place(0, shape.q, (dim, 1))


@_layout("dense")
def _dense(shape: Shape) -> PlacedInputs:
    heads, dim = shape.num_kv_heads, shape.head_dim
    words, strides = shape.rows * heads * dim, (heads * dim, dim, 1)
    return PlacedInputs(
        _dense_q(shape), _own_buffer("k", shape, words, strides), _own_buffer("v", shape, words, strides)
    )


@_layout("kv-head-major")
def _kv_head_major(shape: Shape) -> PlacedInputs:
    """A cache `[num_kv_heads, capacity, head_dim]`: one head's rows lie together."""
    heads, dim = shape.num_kv_heads, shape.head_dim
    words, strides = heads * shape.rows * dim, (dim, shape.rows * dim, 1)
    return PlacedInputs(
        _dense_q(shape), _own_buffer("k", shape, words, strides), _own_buffer("v", shape, words, strides)
    )


@_layout("padded")
def _padded(shape: Shape) -> PlacedInputs:
    """Gaps after every head and row, of different sizes in q, K and V, so that no stride can stand for another."""
    heads, dim = shape.num_kv_heads, shape.head_dim

    def spread(name: str, head_gap: int, row_gap: int) -> Placed:
        head = dim + head_gap
        row = heads * head + row_gap
        return _own_buffer(name, shape, shape.rows * row, (row, head, 1))

    q_heads, q_stride = shape.num_q_heads, dim + 12
    q = new_buffer("q", q_heads * q_stride, np.float32, "input").place(0, shape.q, (q_stride, 1))
    return PlacedInputs(q, spread("k", 16, 32), spread("v", 48, 8))


@_layout("packed")
def _packed(shape: Shape) -> PlacedInputs:
    """Slices of a fused projection's output.

    f32: one buffer `[rows, (num_q_heads + 2 num_kv_heads) head_dim]`, with q in the newest row. f16: K and V share such
    a buffer, and q is one half of pairs (query, gate), `[num_q_heads, 2, head_dim]`.
    """
    q_heads, heads, dim = shape.num_q_heads, shape.num_kv_heads, shape.head_dim
    if shape.storage == "f32":
        row = (q_heads + 2 * heads) * dim
        buffer = new_buffer("qkv", shape.rows * row, np.float32, "input")
        q = buffer.place((shape.kv_len - 1) * row, shape.q, (dim, 1))
        first = q_heads * dim
    else:
        row = 2 * heads * dim
        buffer = new_buffer("kv", shape.rows * row, DTYPES[shape.storage], "input")
        q = new_buffer("q", 2 * q_heads * dim, np.float32, "input").place(0, shape.q, (2 * dim, 1))
        first = 0
    k = buffer.place(first, shape.kv, (row, dim, 1))
    v = buffer.place(first + heads * dim, shape.kv, (row, dim, 1))
    return PlacedInputs(q, k, v)


@_layout("shared-head")
def _shared_head(shape: Shape) -> PlacedInputs:
    """Stride 0 between KV heads: all of them read the same rows. Legal, and means what it says."""
    dim = shape.head_dim
    words, strides = shape.rows * dim, (dim, 0, 1)
    return PlacedInputs(
        _dense_q(shape), _own_buffer("k", shape, words, strides), _own_buffer("v", shape, words, strides)
    )


@_layout("shared-row")
def _shared_row(shape: Shape) -> PlacedInputs:
    """Stride 0 between rows: one key and one value, seen `kv_len` times."""
    heads, dim = shape.num_kv_heads, shape.head_dim
    words, strides = heads * dim, (0, dim, 1)
    return PlacedInputs(
        _dense_q(shape), _own_buffer("k", shape, words, strides), _own_buffer("v", shape, words, strides)
    )
