"""Launches on a GPU as the sanitizer's tools want them: each buffer an allocation of its own, and no kernel but ours.

CuPy's memory pool would hide a step past the end of a buffer in a larger block, and what an earlier user of the block
wrote would pass for initialised.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from diffcheck.executors.gpu import launch, load_module
from diffcheck.executors.program import Program
from diffcheck.sanitize.launch import planted_launch
from diffcheck.sanitize.registry import Planted, Version

_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2


class Allocations:
    """Device memory from the driver, one allocation a buffer."""

    def __init__(self) -> None:
        self._addresses: list[int] = []

    def empty(self, nbytes: int) -> int:
        """Allocate memory that nothing has written; return its address."""
        import cupy

        address = int(cupy.cuda.runtime.malloc(nbytes))
        self._addresses.append(address)
        return address

    def copy_of(self, array: npt.NDArray[Any]) -> int:
        """Allocate memory with the words of a C-contiguous array; return its address."""
        import cupy

        address = self.empty(array.nbytes)
        cupy.cuda.runtime.memcpy(address, array.ctypes.data, array.nbytes, _HOST_TO_DEVICE)
        return address

    def read(self, address: int, array: npt.NDArray[Any]) -> None:
        """Copy device memory into a C-contiguous array."""
        import cupy

        cupy.cuda.runtime.memcpy(array.ctypes.data, address, array.nbytes, _DEVICE_TO_HOST)

    def forget(self) -> None:
        """Leave the memory to the end of the process: after a fault nothing can be given back."""
        self._addresses.clear()

    def free(self) -> None:
        """Give everything back."""
        import cupy

        while self._addresses:
            cupy.cuda.runtime.free(self._addresses.pop())


@contextmanager
def allocations() -> Iterator[Allocations]:
    """Memory that is given back at the end of the block."""
    made = Allocations()
    yield made
    made.free()


def launch_planted(planted: Planted, version: Version) -> str:
    """Launch one version of a planted fault on the current device and wait for it.

    Returns what the driver says of the launch in one line, empty where it ended well. Raises CuPy's driver error when
    the text is refused: then nothing was launched.
    """
    import cupy

    made = planted_launch(planted)
    with allocations() as memory:
        # Allocated before the module is loaded, as the first allocation makes the context.
        source = 0 if made.inputs is None else memory.copy_of(made.inputs)
        words: list[np.generic] = [np.uint64(source), np.uint64(memory.empty(made.output_bytes))]
        words += [] if made.count is None else [np.uint32(made.count)]
        function = load_module(planted.ptx).get_function(version)
        try:
            function(made.grid, made.block, tuple(words))
            cupy.cuda.runtime.deviceSynchronize()
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
            memory.forget()
            return " ".join(str(error).split())
    return ""


def run_program(program: Program) -> npt.NDArray[np.float32]:
    """Run an arm's launches on the current device and return its result, f32 `[num_q_heads, D]`.

    As in the PTX machine, a buffer is its live part alone, without guard words, and scratch starts unset.
    """
    import cupy

    with allocations() as memory:
        regions = {region.buffer.name: region for region in program.regions()}
        live = {
            name: memory.empty(region.live.nbytes) if region.role == "scratch" else memory.copy_of(region.live)
            for name, region in regions.items()
        }
        # Addresses count from a buffer's first word, guards included.
        bases = {name: live[name] - region.first * region.buffer.raw.itemsize for name, region in regions.items()}
        module = load_module(program.ptx)
        for step in program.steps:
            launch(module.get_function(step.entry), step, bases)
        cupy.cuda.runtime.deviceSynchronize()
        out = program.outputs.out
        result = regions[out.buffer.name]
        words = np.ascontiguousarray(result.live)
        memory.read(live[out.buffer.name], words)
        return out.over(result.whole(words))
