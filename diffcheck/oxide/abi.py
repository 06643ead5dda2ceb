"""What a launch expects of the Rust kernels: entries, parameters and shared memory (docs/contract.md, section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Parameter types in order, strides and pointers 64 bits wide.
PARTIAL_PARAMS = ("u64",) * 6 + ("u32",) * 3 + ("u64",) * 5
REDUCE_PARAMS = ("u64",) * 4 + ("u32", "u64")
REDUCE_THREADS = 256
LANES = 32
STORAGE_BYTES = {"f32": 4, "f16": 2}


@dataclass(frozen=True)
class KernelAbi:
    """One kernel as the harness asks for it.

    `params` are the types of its parameters in order, `threads` those of a block, `dynamic_shared` the bytes of shared
    memory that a launch adds, `row_loads` the 16-byte loads of K and V that a lane makes a warp step (0: no such step).
    """

    entry: str
    params: tuple[str, ...]
    threads: int
    dynamic_shared: int
    row_loads: int


def planned_kernels(target: str) -> tuple[KernelAbi, ...]:
    """Return every kernel that a plan for a target (`sm_90`) can ask for, each once, the reduce kernels last."""
    from rust_kernel.plan import tile_table

    arch = int(target.removeprefix("sm_"))
    rows = [row for row in tile_table() if row["arch"][0] <= arch <= row["arch"][1]]
    partials: dict[str, KernelAbi] = {}
    for row in rows:
        first, last = row["group_size"]
        for group_size in range(first, last + 1):
            tile = (row["tile"].warps, row["tile"].rows)
            kernel = _partial(row["storage"], group_size, row["head_dim"], *tile)
            partials.setdefault(kernel.entry, kernel)
    return (*partials.values(), *_reduces(sorted({row["head_dim"] for row in rows})))


def _partial(storage: str, group_size: int, head_dim: int, warps: int, rows: int) -> KernelAbi:
    lane_bytes = head_dim // LANES * STORAGE_BYTES[storage]
    return KernelAbi(
        entry=f"splitk_partial_{storage}_g{group_size}_d{head_dim}_w{warps}r{rows}",
        params=PARTIAL_PARAMS,
        threads=LANES * warps,
        # Every warp leaves accumulators, maximum and sum of every head (partial.rs, `shared_bytes`).
        dynamic_shared=4 * warps * group_size * (head_dim + 2),
        row_loads=2 * rows * (lane_bytes // 16),
    )


def _reduces(head_dims: list[int]) -> Iterator[KernelAbi]:
    for head_dim in head_dims:
        yield KernelAbi(f"splitk_reduce_d{head_dim}", REDUCE_PARAMS, REDUCE_THREADS, 0, 0)
