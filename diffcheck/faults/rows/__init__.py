"""The faults, one module a topic."""

from diffcheck.faults.model import Fault
from diffcheck.faults.rows import evidence, indexing, launch, numerics, toolchain

ROWS: tuple[Fault, ...] = (
    *numerics.FAULTS,
    *indexing.FAULTS,
    *launch.FAULTS,
    *toolchain.FAULTS,
    *evidence.FAULTS,
)
