"""The calculation: pipes and bytes of one turn, bytes in flight, and what a call's fixed part costs.

- A turn of the hot loop (R rows of K and of V, one warp) keeps each pipe busy for its instructions x 32 lanes over the
  published rate; four schedulers issue one instruction a clock each. The busiest pipe gives the bytes a clock and SM
  that the arithmetic allows.
- The memory gives an SM its bandwidth over SMs and clock. It is kept busy by as many bytes in flight as it sends within
  its latency (Little's law).
- What is not hidden is the latency of the first bytes, and after the last ones one step of all warps and their merge:
  every warp's accumulators written to shared memory and read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from diffcheck.arms import BuilderArm
from diffcheck.assemble.run import Job
from diffcheck.assemble.sass.model import HotLoop, SassKernel
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.limits.model import Limit, PipeLoad, Predicted
from diffcheck.limits.published import Published
from py_builder_kernel.kernels.spec import PartialSpec
from py_builder_kernel.kernels.staging import ring_shape
from py_builder_kernel.ptx import target_named
from rust_kernel.plan import DeviceProfile, profiles

LANES = 32
SCHEDULERS = 4
SHARED_BYTES_PER_CLOCK = 128
HEAD_DIM = 256
BUILDER = BuilderArm()
GROUPS = tuple(range(1, 9))
WARPS = tuple(range(1, 33))
ROWS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Call:
    """What is asked of the model besides the tile."""

    num_kv_heads: int
    kv_lens: tuple[int, ...]
    latency_us: float


def step_bytes(shape: PartialSpec) -> int:
    """Return the bytes of K and V that a warp's step reads."""
    return 2 * shape.rows * shape.head_dim * shape.lane_map.storage.size


def tile_of(shape: PartialSpec) -> str:
    """Return the tile's name, such as `w8r4`: the end of the entry's."""
    return shape.entry.rpartition("_")[2]


def profile_named(name: str) -> DeviceProfile:
    """Return the planner's profile of that name, which exists."""
    return next(one for one in profiles() if one.name == name)


def job_of(shape: PartialSpec, profile: DeviceProfile) -> Job:
    """Return the kernel to disassemble."""
    return Job(BUILDER, shape.entry, f"sm_{profile.arch}")


def limit_of(shape: PartialSpec, sass: SassKernel, profile: DeviceProfile, call: Call, numbers: Published) -> Limit:
    """Return what limits a tile on a device. Raises `DiffcheckError` for a kernel whose loop has no rows."""
    loop = sass.loop
    if loop is None or not loop.rows:
        raise DiffcheckError(f"{shape.entry}: its machine code has no loop over rows")
    target, device = sass.target, numbers.device_of(profile.name)
    kernel = BUILDER.kernel(shape.entry, target)
    turn_bytes = step_bytes(shape) * loop.rows // shape.rows
    pipes = pipe_loads(loop, target, numbers)
    clocks_per_us = device.clock_ghz * 1000.0
    memory = device.gigabytes_per_second / (profile.sms * device.clock_ghz)
    core = turn_bytes / pipes[0].clocks
    ring = ring_bytes(shape, target)
    flight = flight_bytes(shape, ring)
    needed = round(device.gigabytes_per_second * 1000.0 * call.latency_us / profile.sms)
    merge_bytes = shape.warps * (shape.acc_bytes + shape.sums_bytes)
    tail = (pipes[0].clocks * shape.warps + 2 * merge_bytes / SHARED_BYTES_PER_CLOCK) / clocks_per_us
    by_flight = flight / (call.latency_us * clocks_per_us)
    rates: dict[Literal["memory", "bytes in flight", "instructions"], float] = {
        "memory": memory,
        "bytes in flight": by_flight,
        "instructions": core,
    }
    rate = min(rates.values()) * profile.sms * clocks_per_us
    return Limit(
        profile=profile.name,
        arch=target,
        entry=shape.entry,
        tile=tile_of(shape),
        registers=sass.registers,
        shared_bytes=kernel.dynamic_shared,
        blocks_per_sm=sass.blocks_per_sm,
        ring=ring is not None,
        instructions=loop.instructions,
        turn_bytes=turn_bytes,
        pipes=pipes,
        memory_bytes_per_clock=memory,
        core_bytes_per_clock=core,
        flight_bytes=flight,
        needed_bytes=needed,
        tail_us=tail,
        limited_by=min(rates, key=lambda name: rates[name]),
        predicted=tuple(predicted(shape, call, kv_len, rate, tail) for kv_len in call.kv_lens),
    )


def pipe_loads(loop: HotLoop, target: str, numbers: Published) -> tuple[PipeLoad, ...]:
    """Return the clocks that a turn keeps each pipe busy, the busiest first."""
    loads = [PipeLoad(pipe="issue", clocks=loop.instructions / SCHEDULERS)]
    for pipe in numbers.pipe:
        count = sum(loop.mix.get(kind, 0) for kind in pipe.kinds)
        loads.append(PipeLoad(pipe=pipe.name, clocks=count * LANES / pipe.results[target]))
    return tuple(sorted(loads, key=lambda load: -load.clocks))


def ring_bytes(shape: PartialSpec, target: str) -> int | None:
    """Return the bytes of a block's ring of rows in shared memory; None where they wait in registers."""
    ring = ring_shape(shape, target_named(target))
    return None if ring is None else ring.bytes


def flight_bytes(shape: PartialSpec, ring: int | None) -> int:
    """Return the bytes that a block has requested ahead at the least.

    Of a ring all but the step that is computed; in registers K or V of a step, as each is requested when it has been
    used up.
    """
    step = shape.warps * step_bytes(shape)
    return step // 2 if ring is None else ring - step


def predicted(shape: PartialSpec, call: Call, kv_len: int, bytes_per_us: float, tail_us: float) -> Predicted:
    """Return what the model says of a call."""
    kv_bytes = kv_len * call.num_kv_heads * step_bytes(shape) // shape.rows
    memory_us = kv_bytes / bytes_per_us
    return Predicted(kv_len=kv_len, memory_us=memory_us, total_us=call.latency_us + memory_us + tail_us)


def shapes_of(storages: Sequence[str], group: int, warps: Sequence[int], rows: Sequence[int]) -> list[PartialSpec]:
    """Return every combination. Raises `BadInputError` for numbers that no kernel of the builder has."""
    for field, numbers, allowed in (("group", (group,), GROUPS), ("warps", warps, WARPS), ("rows", rows, ROWS)):
        for number in numbers:
            if number not in allowed:
                raise BadInputError(field, number, ", ".join(map(str, allowed)))
    return [PartialSpec(storage, group, HEAD_DIM, w, r) for storage in storages for w in warps for r in rows]
