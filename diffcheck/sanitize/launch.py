"""The launch of a planted fault, the same for the PTX machine and for a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diffcheck.sanitize.registry import Planted

ITEM_BYTES = 4


@dataclass(frozen=True)
class PlantedLaunch:
    """What a planted kernel is given.

    `inputs` is the f32 buffer `in` (None: a null pointer), `output_bytes` the size of the buffer `out`, which starts
    unset, and `count` the third parameter where there is one.
    """

    inputs: npt.NDArray[np.float32] | None
    output_bytes: int
    count: int | None
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


def planted_launch(planted: Planted) -> PlantedLaunch:
    """Return the launch of a planted fault, of either version."""
    return PlantedLaunch(
        inputs=np.arange(planted.inputs, dtype=np.float32) if planted.inputs else None,
        output_bytes=planted.outputs * ITEM_BYTES,
        count=planted.count,
        grid=(planted.grid, 1, 1),
        block=(planted.block, 1, 1),
    )
