"""What a launch expects of the Rust kernels: entries, parameters and shared memory (docs/contract.md, section 8)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from diffcheck.assemble.limits import SHARED_BYTES, alone_bytes

# Parameter types in order, strides and pointers 64 bits wide.
PARTIAL_PARAMS = ("u64",) * 6 + ("u32",) * 3 + ("u64",) * 5
REDUCE_PARAMS = ("u64",) * 4 + ("u32", "u64")
REDUCE_THREADS = 256
LANES = 32
STORAGE_BYTES = {"f32": 4, "f16": 2}
# Bytes of K and V that wait in shared memory (shared.rs), unless two steps are more, where a block has room for them.
RING_BYTES = 96 * 1024
MIN_RING_STEPS = 2

_PARTIAL = re.compile(
    r"splitk_partial_(?P<storage>f16|f32)_g(?P<group_size>\d+)_d(?P<head_dim>\d+)_w(?P<warps>\d+)r(?P<rows>\d+)"
)


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
            tile = _Tile(row["storage"], group_size, row["head_dim"], row["tile"].warps, row["tile"].rows)
            partials.setdefault(tile.entry, tile.kernel(target))
    return (*partials.values(), *_reduces(sorted({row["head_dim"] for row in rows})))


def partial_kernel(entry: str, target: str) -> KernelAbi | None:
    """Return the partial kernel of a name, in the table or not; None for a name of another form."""
    named = _PARTIAL.fullmatch(entry)
    if named is None:
        return None
    numbers = {field: int(value) for field, value in named.groupdict().items() if field != "storage"}
    return _Tile(storage=named["storage"], **numbers).kernel(target)


@dataclass(frozen=True)
class _Tile:
    """What a partial kernel is stamped for."""

    storage: str
    group_size: int
    head_dim: int
    warps: int
    rows: int

    @property
    def entry(self) -> str:
        return f"splitk_partial_{self.storage}_g{self.group_size}_d{self.head_dim}_w{self.warps}r{self.rows}"

    @property
    def row_bytes(self) -> int:
        return self.head_dim * STORAGE_BYTES[self.storage]

    def kernel(self, target: str) -> KernelAbi:
        return KernelAbi(
            entry=self.entry,
            params=PARTIAL_PARAMS,
            threads=LANES * self.warps,
            dynamic_shared=max(self._used_shared(SHARED_BYTES[target]), alone_bytes(target)),
            row_loads=2 * self.rows * (self.row_bytes // (16 * LANES)),
        )

    def _used_shared(self, room: int) -> int:
        # Every warp leaves accumulators, maximum and sum of every head; before that, the ring is in its place
        # (shared.rs, `Shape::bytes`).
        merge = 4 * self.warps * self.group_size * (self.head_dim + 2)
        step = self.warps * 2 * self.rows * self.row_bytes
        ring = max(MIN_RING_STEPS, RING_BYTES // step) * step
        fits = self.row_bytes % (16 * LANES) == 0 and ring <= room
        return max(ring, merge) if fits else merge


def _reduces(head_dims: list[int]) -> Iterator[KernelAbi]:
    for head_dim in head_dims:
        yield KernelAbi(f"splitk_reduce_d{head_dim}", REDUCE_PARAMS, REDUCE_THREADS, 0, 0)
