"""What the tests of both packages' launch objects on a CUDA device share: inputs, and the twin's result to the bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rust_kernel import twin
from rust_kernel.plan import Plan

HEAD_DIM = 256
HOST_TYPES = {"f16": np.float16, "f32": np.float32}
# Rows of K and V past the context, poisoned, so that reading one shows.
TAIL = 13


class Planned(Protocol):
    """An object that tells how it splits a context."""

    def plan(self, kv_len: int) -> Plan:
        """The plan of a call."""


@dataclass(frozen=True)
class Inputs:
    """One position's inputs on the host; K and V have NaN rows past the context."""

    q: npt.NDArray[np.float32]
    k: npt.NDArray[Any]
    v: npt.NDArray[Any]
    kv_len: int


def inputs(kv_len: int, heads: int = 16, kv_heads: int = 4, storage: str = "f16", seed: int = 1) -> Inputs:
    rng = np.random.default_rng([seed, kv_len, heads, kv_heads])
    q = rng.standard_normal((heads, HEAD_DIM), dtype=np.float32)
    k, v = (
        rng.standard_normal((kv_len + TAIL, kv_heads, HEAD_DIM), dtype=np.float32).astype(HOST_TYPES[storage])
        for _ in range(2)
    )
    k[kv_len:] = np.nan
    v[kv_len:] = np.nan
    return Inputs(q, k, v, kv_len)


def on_device(cupy: Any, host: Inputs) -> tuple[Any, Any, Any]:
    return cupy.asarray(host.q), cupy.asarray(host.k), cupy.asarray(host.v)


def expected(decode: Planned, host: Inputs) -> npt.NDArray[np.float32]:
    return twin.decode(host.q, host.k, host.v, decode.plan(host.kv_len))


def assert_bits(got: Any, want: npt.NDArray[np.float32]) -> None:
    values = got.get() if hasattr(got, "get") else got.cpu().numpy()
    np.testing.assert_array_equal(values.view(np.uint32), want.view(np.uint32))
