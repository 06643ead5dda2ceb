"""Orthogonal directions of signs, with which scores can be placed exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

PERIOD = 128
"""head_dim is a multiple of it, so that directions stay orthogonal for every head_dim of the contract."""


def signs(index: int, head_dim: int) -> npt.NDArray[np.float32]:
    """The `index`-th Walsh function over `head_dim` elements: ±1, and orthogonal to every other index below 127."""
    if not 0 <= index < PERIOD - 1 or head_dim % PERIOD:
        raise ValueError(f"no direction {index} in head_dim {head_dim}: 0..126, and a multiple of {PERIOD}")
    masked = (np.arange(head_dim) % PERIOD) & (index + 1)
    parity = np.zeros(head_dim, dtype=np.int64)
    for bit in range(PERIOD.bit_length() - 1):
        parity ^= (masked >> bit) & 1
    return (1 - 2 * parity).astype(np.float32)
