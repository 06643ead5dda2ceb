"""Partials made by hand, for the reduce kernel alone: what no partial kernel writes on demand, such as an empty split.

A generator fills `part_m`, `part_s` and `part_acc` of every query head. Adding one is one function with `@merge(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diffcheck.buffers import FloatArray
from diffcheck.cases import Case, Expect
from diffcheck.generators.base import F32Array, stream_rng

LOWEST = np.finfo(np.float32).min
"""The maximum of a split whose rows are all masked, as the partial kernel writes it."""
FAR_BELOW = np.float32(200)
"""So far below the largest maximum, a split weighs exactly 0."""
MERGE_CLASSES = 8
"""Splits i, i + 8, i + 16, … are merged with each other first (contract, section 6)."""


@dataclass(frozen=True, eq=False)
class MergeRequest:
    """What a generator fills: `m` and `s` f32 `[num_q_heads, n_splits]`, `acc` f32 `[num_q_heads, n_splits, D]`."""

    case: Case
    m: FloatArray
    s: FloatArray
    acc: FloatArray

    @property
    def n_splits(self) -> int:
        """Splits to merge."""
        return int(self.m.shape[1])

    def rng(self, stream: str) -> np.random.Generator:
        """A generator of random numbers that depends on the case's family, its seed and `stream` only."""
        return stream_rng(self.case, stream)

    def empty(self, head: int, splits: slice | npt.NDArray[np.bool_]) -> None:
        """Make splits of a head empty: nothing summed, and -inf or the lowest number as the maximum, in turn."""
        maxima = np.where(np.arange(self.n_splits) % 2, LOWEST, np.float32(-np.inf))
        self.m[head, splits] = maxima[splits]
        self.s[head, splits] = 0
        self.acc[head, splits] = 0


Fill = Callable[[MergeRequest], F32Array | None]


@dataclass(frozen=True, slots=True)
class MergeInfo:
    """One generator of partials."""

    name: str
    summary: str
    expect: Expect
    fill: Fill


_MERGES: dict[str, MergeInfo] = {}


def merges() -> Mapping[str, MergeInfo]:
    """The registry, by name."""
    return _MERGES


def merge(name: str, summary: str, *, expect: Expect) -> Callable[[Fill], Fill]:
    """Register a generator of partials under `name`."""

    def register(fill: Fill) -> Fill:
        if name in _MERGES:
            raise ValueError(f"two generators of partials are called {name}")
        _MERGES[name] = MergeInfo(name, summary, expect, fill)
        return fill

    return register


@merge("merge-empty", "every split empty: NaN (0 / 0) throughout", expect="exact")
def merge_empty(request: MergeRequest) -> F32Array:
    """Nothing merged with nothing stays nothing; a finite stand-in for the maximum would make a number of it."""
    return _all_empty(request)


def _all_empty(request: MergeRequest) -> F32Array:
    for head in range(request.case.num_q_heads):
        request.empty(head, slice(None))
    return np.full((request.case.num_q_heads, request.case.head_dim), np.nan, dtype=np.float32)


@merge("merge-one-live", "all splits empty but one: its own acc / s", expect="exact")
def merge_one_live(request: MergeRequest) -> F32Array:
    """Head 0 has its live split last, the others anywhere: the empty ones before and after it must not weigh."""
    rng = request.rng("merge-one-live")
    exact = _all_empty(request)
    for head in range(request.case.num_q_heads):
        live = request.n_splits - 1 if head == 0 else int(rng.integers(request.n_splits))
        request.m[head, live] = rng.integers(-300, 300)
        request.s[head, live] = total = rng.integers(1, 1000)
        request.acc[head, live] = acc = rng.integers(-(2**20), 2**20, request.case.head_dim)
        exact[head] = acc / total
    return exact


@merge("merge-lowest", "maxima of the lowest number, as rows that score it leave: sums' ratio", expect="exact")
def merge_lowest(request: MergeRequest) -> F32Array:
    """A search for the maximum that starts from a number above the lowest one would leave each split the weight 0."""
    rng = request.rng("merge-lowest")
    request.m[...] = LOWEST
    request.s[...] = rng.integers(1, 100, request.s.shape)
    request.acc[...] = rng.integers(-100, 100, request.acc.shape)
    return np.asarray(request.acc.sum(axis=1) / request.s.sum(axis=1)[:, None], dtype=np.float32)


@merge("merge-nan", "NaN in elements, or as a maximum, or a maximum of +inf: NaN there, or in the head", expect="exact")
def merge_nan(request: MergeRequest) -> F32Array:
    """A maximum of NaN is none, but makes its split's weight NaN, as +inf does (inf - inf); no sum of theirs is NaN.

    Heads in turn: the splits that are first in their classes are NaN in two elements, the first split's maximum is NaN,
    the last one's is +inf. All other splits weigh 1.
    """
    rng = request.rng("merge-nan")
    request.m[...] = 0
    request.s[...] = rng.integers(1, 100, request.s.shape)
    request.acc[...] = rng.integers(-100, 100, request.acc.shape)
    exact = np.asarray(request.acc.sum(axis=1) / request.s.sum(axis=1)[:, None], dtype=np.float32)
    elements = [3, 36]
    request.acc[::3, :MERGE_CLASSES, elements] = exact[::3, elements] = np.nan
    request.m[1::3, 0] = np.nan
    request.m[2::3, -1] = np.inf
    exact[1::3] = exact[2::3] = np.nan
    return exact


@merge("merge-kept", "splits of weight 0, 1 and none at all: the ratio of the kept ones' sums", expect="exact")
def merge_kept(request: MergeRequest) -> F32Array:
    """The first split is empty, and others that are not kept are empty or far below the maximum, in turn."""
    rng = request.rng("merge-kept")
    heads, dim = request.case.num_q_heads, request.case.head_dim
    kept = rng.random((heads, request.n_splits)) < 0.5
    kept[:, 0] = False
    kept[:, -1] = True
    request.m[...] = np.where(kept, 0, -FAR_BELOW) + rng.integers(-100, 100, (heads, 1))
    request.s[...] = rng.integers(1, 100, (heads, request.n_splits))
    request.acc[...] = rng.integers(-100, 100, (heads, request.n_splits, dim))
    exact = np.empty((heads, dim), dtype=np.float32)
    for head in range(heads):
        sums = request.acc[head, kept[head]].astype(np.float64).sum(axis=0)
        exact[head] = sums / request.s[head, kept[head]].sum(dtype=np.float64)
        request.empty(head, ~kept[head] & (np.arange(request.n_splits) % 3 == 0))
    return exact


@merge("merge-counted", "equal weights, acc one-hot by split mod head_dim: each split counted once", expect="exact")
def merge_counted(request: MergeRequest) -> F32Array:
    """out[d] is the number of splits j with (j + head) mod head_dim = d, over n_splits, correctly rounded."""
    heads, dim, n = request.case.num_q_heads, request.case.head_dim, request.n_splits
    request.m[...] = np.arange(heads)[:, None]
    request.s[...] = 1
    request.acc[...] = 0
    head, split = np.arange(heads)[:, None], np.arange(n)[None, :]
    hot = (head + split) % dim
    request.acc[head, split, hot] = 1
    counts = np.stack([np.bincount(row, minlength=dim) for row in hot])
    return np.asarray(counts / n, dtype=np.float32)


@merge("merge-steps", "log-sums 0, 3, 6, … of random rows: powers of e, not of 2", expect="bound")
def merge_steps(request: MergeRequest) -> None:
    """Half the heads carry the log-sum in the maximum (s = 1), the others in the sum (m = 0)."""
    steps = 3.0 * (np.arange(request.n_splits) % 8)
    in_sum = np.arange(request.case.num_q_heads)[:, None] % 2 == 1
    request.m[...] = np.where(in_sum, 0, steps)
    request.s[...] = np.where(in_sum, np.exp(steps), 1)
    rows = request.rng("merge-steps").standard_normal(request.acc.shape)
    request.acc[...] = rows * request.s.astype(np.float64)[:, :, None]


@merge("merge-random", "maxima N(0,3), sums and rows as a partial kernel leaves them", expect="bound")
def merge_random(request: MergeRequest) -> None:
    """The plain case: every split weighs something."""
    rng = request.rng("merge-random")
    request.m[...] = 3 * rng.standard_normal(request.m.shape)
    request.s[...] = 1 + 63 * rng.random(request.s.shape)
    request.acc[...] = rng.standard_normal(request.acc.shape) * request.s[:, :, None]


@merge("merge-even", "splits of nearly the same weight", expect="bound")
def merge_even(request: MergeRequest) -> None:
    """No split drowns in another, so that each rounding of a sum can be seen."""
    rng = request.rng("merge-even")
    request.m[...] = -rng.random(request.m.shape)
    request.s[...] = 1 + rng.random(request.s.shape)
    request.acc[...] = rng.standard_normal(request.acc.shape)


@merge("merge-one-class", "as merge-even, but all classes empty but one, another one in every head", expect="bound")
def merge_one_class(request: MergeRequest) -> None:
    """No other class's sum rounds away what a class's own products and sums leave."""
    merge_even(request)
    classes = min(MERGE_CLASSES, request.n_splits)
    for head in range(request.case.num_q_heads):
        request.empty(head, np.arange(request.n_splits) % MERGE_CLASSES != head % classes)
