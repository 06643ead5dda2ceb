"""The PTX machine: runs PTX on the CPU, to the bits that the PTX ISA defines, with every access checked.

    >>> module = PtxModule(text, name="reduce.ptx")
    >>> memory = Memory()
    >>> source = memory.alloc(array, name="source", writable=False)
    >>> result = memory.alloc_uninit(array.nbytes, name="result")
    >>> launch(module, "copy", memory, grid=1, block=256, args=[source, result, ("u32", array.size)])
    >>> memory.read(result, array.dtype, array.shape)

A text that is not accepted raises `PtxError`, at the first thing wrong; nothing is skipped silently. A kernel that does
what it may not do (an access out of bounds or misaligned, a value that no one wrote, a divergent barrier, …) raises
`PtxFault`. Everything else that is not allowed raises `TypeError` or `ValueError`, with one line that names the field,
the value and what is allowed. The interpreter is let go of during a launch.
"""

from rust_kernel._native import (
    EntryInfo,
    LaunchStats,
    Memory,
    PtxError,
    PtxFault,
    PtxModule,
    launch,
    machine_version,
)

__all__ = [
    "EntryInfo",
    "LaunchStats",
    "Memory",
    "PtxError",
    "PtxFault",
    "PtxModule",
    "launch",
    "machine_version",
]
