"""The record of `diffcheck limits`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from diffcheck.receipts.fields import Count, Model, Name, Real, Target


class PipeLoad(Model):
    """How long one turn of the hot loop keeps a pipe busy."""

    pipe: Name
    clocks: Real
    """Clocks of an SM for one warp's turn."""


class Predicted(Model):
    """A call by the model: what its bytes take, and what comes on top."""

    kv_len: Count
    memory_us: Real
    """Bytes of K and V at the rate that memory and bytes in flight allow."""
    total_us: Real
    """With the latency of the first bytes and what follows the last ones; without launches and the reduction."""


class Limit(Model):
    """One tile on one device."""

    profile: Name
    arch: Target
    entry: Name
    tile: Name
    registers: Count
    shared_bytes: Count
    blocks_per_sm: Count
    """Blocks that an SM has room for; a wave has one on each."""
    ring: bool
    """Whether rows wait in shared memory; else in registers."""
    instructions: Count
    """Of one turn of the hot loop, a warp."""
    turn_bytes: Count
    """Bytes of K and V that a turn computes."""
    pipes: tuple[PipeLoad, ...] = Field(min_length=1)
    """The busiest first."""
    memory_bytes_per_clock: Real
    """Bytes a clock and SM that the memory gives."""
    core_bytes_per_clock: Real
    """Bytes a clock and SM that the busiest pipe could compute."""
    flight_bytes: Count
    """Bytes an SM that are requested ahead, at the least."""
    needed_bytes: Count
    """Bytes in flight an SM that keep the memory busy: its rate times the latency."""
    tail_us: Real
    """From the last bytes' arrival to the last store: one step of all warps and their merge."""
    limited_by: Literal["memory", "bytes in flight", "instructions"]
    predicted: tuple[Predicted, ...]


class Limits(Model):
    """What limits the kernel, by calculation: no device was asked."""

    ptxas_version: Name
    nvdisasm_version: Name
    latency_us: Real
    limits: tuple[Limit, ...] = Field(min_length=1)
