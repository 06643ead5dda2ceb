"""How many blocks of a kernel an SM holds (CUDA C++ Programming Guide, technical specifications).

Registers are dealt out to warps in units of 256, from one of four equal parts of the register file.
"""

from __future__ import annotations

from dataclasses import dataclass

SM_REGISTERS = 65536
_PARTS = 4
_REGISTER_UNIT = 256
# Taken from an SM's shared memory by the system, a block.
_RESERVED_SHARED = 1024


@dataclass(frozen=True)
class SmLimits:
    """What an SM holds at most: warps, blocks, bytes of shared memory."""

    warps: int
    blocks: int
    shared: int


LIMITS = {
    "sm_80": SmLimits(64, 32, 164 * 1024),
    "sm_89": SmLimits(48, 24, 100 * 1024),
    "sm_90": SmLimits(64, 32, 228 * 1024),
    "sm_120": SmLimits(48, 32, 100 * 1024),
    "sm_121": SmLimits(48, 32, 100 * 1024),
}


def blocks_per_sm(target: str, threads: int, registers: int, shared: int) -> int:
    """Return how many blocks fit an SM; `registers` a thread, `shared` bytes a block, static and dynamic."""
    limits = LIMITS[target]
    warps = -(-threads // 32)
    a_warp = -(-registers * 32 // _REGISTER_UNIT) * _REGISTER_UNIT
    by_registers = SM_REGISTERS // _PARTS // a_warp * _PARTS // warps
    by_shared = limits.shared // (shared + _RESERVED_SHARED)
    return min(limits.warps // warps, limits.blocks, by_registers, by_shared)


def occupancy(target: str, threads: int, blocks: int) -> float:
    """Return the share of an SM's warps, in percent, that `blocks` blocks fill."""
    return 100.0 * blocks * -(-threads // 32) / LIMITS[target].warps
