"""What a generator is given and what it hands back, and the registry that the other modules of this package fill.

Adding a generator is one function with `@generator(...)` in a module that `diffcheck.generators` imports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from diffcheck.buffers import Buffer, Damage, FloatArray, Placed
from diffcheck.cases import Case, Expect, Stage, Storage
from diffcheck.planning import PlanLike

F32Array = npt.NDArray[np.float32]
F64Array = npt.NDArray[np.float64]
Statistics = Literal["normal", "other"]
Damaged = Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Inputs:
    """q, K and V of one call, in guarded buffers, and the exact result where the generator knows it.

    `exact` is f32 `[num_q_heads, head_dim]`; where it is NaN, any NaN is right. `storage` is the dtype of K and V, that
    of the case except after `widened`.
    """

    case: Case
    storage: Storage
    q: Placed
    k: Placed
    v: Placed
    exact: F32Array | None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers that hold q, K and V, each once (a packed layout keeps several arrays in one)."""
        return tuple(dict.fromkeys(placed.buffer for placed in (self.q, self.k, self.v)))

    def damage(self, after: Damaged | None = None) -> list[Damage]:
        """What a kernel changed in its inputs, by `Buffer.damage`; `after` maps buffer names to words read back."""
        return _damage(self.buffers, after)


@dataclass(frozen=True, eq=False)
class Partials:
    """What the partial kernel leaves to the reduce kernel, made by hand, and the exact result where it is known.

    `part_m` and `part_s` are f32 `[num_q_heads, n_splits]`, `part_acc` is f32 `[num_q_heads, n_splits, head_dim]`, all
    dense; `exact` is as in `Inputs`.
    """

    case: Case
    part_m: Placed
    part_s: Placed
    part_acc: Placed
    exact: F32Array | None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The three buffers."""
        return self.part_m.buffer, self.part_s.buffer, self.part_acc.buffer

    def damage(self, after: Damaged | None = None) -> list[Damage]:
        """What a kernel changed in them; see `Inputs.damage`."""
        return _damage(self.buffers, after)


CaseInputs: TypeAlias = Inputs | Partials
"""What a case gives to its kernels: q, K and V, or only partials to merge."""


def decode_inputs(inputs: CaseInputs, name: str) -> Inputs:
    """Return q, K and V. Raises `TypeError`, which starts with `name`, for partials to merge."""
    if not isinstance(inputs, Inputs):
        raise TypeError(f"{name}: partials to merge, where q, K and V are needed")
    return inputs


def _damage(buffers: Iterable[Buffer], after: Damaged | None) -> list[Damage]:
    return [d for b in buffers for d in b.damage(None if after is None else after[b.name])]


@dataclass(frozen=True, eq=False)
class Request:
    """What a generator fills: `q` f32 `[num_q_heads, D]`, `k` and `v` `[kv_len, num_kv_heads, D]`, with any strides."""

    case: Case
    plan: PlanLike
    q: FloatArray
    k: FloatArray
    v: FloatArray

    def rng(self, stream: str) -> np.random.Generator:
        """A generator of random numbers that depends on the case's family, its seed and `stream` only."""
        return stream_rng(self.case, stream)

    def heads_of(self, kv_head: int) -> slice:
        """The query heads that read `kv_head`."""
        group = self.case.group_size
        return slice(kv_head * group, (kv_head + 1) * group)


Fill = Callable[[Request], F32Array | None]


@dataclass(frozen=True, slots=True)
class GeneratorInfo:
    """One generator; `statistics` "normal" promises independent N(0,1) in q, K and V, which a bound needs.

    `stage` is that of its cases: an exact result is that of one decode, or of a chain.
    """

    name: str
    summary: str
    expect: Expect
    statistics: Statistics
    fill: Fill
    stage: Stage = "decode"


_GENERATORS: dict[str, GeneratorInfo] = {}


def generator(
    name: str, summary: str, *, expect: Expect, statistics: Statistics = "other", stage: Stage = "decode"
) -> Callable[[Fill], Fill]:
    """Register a generator under `name`."""

    def register(fill: Fill) -> Fill:
        if name in _GENERATORS:
            raise ValueError(f"two generators are called {name}")
        _GENERATORS[name] = GeneratorInfo(name, summary, expect, statistics, fill, stage)
        return fill

    return register


def registered() -> Mapping[str, GeneratorInfo]:
    """The registry, by name."""
    return _GENERATORS


def stream_rng(case: Case, stream: str) -> np.random.Generator:
    """The random stream `stream` of a case. f32 and f16 cases of one family have the same streams."""
    words = np.frombuffer(hashlib.sha256(f"{case.family}/{stream}".encode()).digest(), dtype="<u4")
    seed = np.random.SeedSequence([case.seed, *(int(word) for word in words)])
    return np.random.Generator(np.random.PCG64DXSM(seed))


def mean_of(values: npt.NDArray[Any], count: int) -> F32Array:
    """The correctly rounded f32 of Σ values / count over the first axis.

    The values are whole numbers whose sum stays below 2^24, so that f32 accumulation in any order is exact and only the
    last division rounds. (f64 in between is harmless: it has more than twice the digits and two spare.)
    """
    total = values.astype(np.float64).sum(axis=0)
    if float(np.max(np.abs(total), initial=0.0)) >= 2.0**24:
        raise ValueError("the sum of an exact case needs more than 24 bits")
    return np.asarray(total / count, dtype=np.float32)
