"""A warp step's rows of K or V: 16 bytes a lane and request, all requested before the first is used.

Where the rows go until they are used is a RowStore: registers, or a ring in shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from py_builder_kernel.kernels.lane_map import LaneMap
from py_builder_kernel.ptx import Address, Function, Reg, at_global


class RowStore(Protocol):
    """Holds a lane's part of a step's rows."""

    def fetch(self, row: int, chunk: int, source: Address, live: Reg | None) -> None:
        """Request one vector of a row from global memory, in lanes where `live`; +0 in the others. None: in all."""


@dataclass(frozen=True, slots=True)
class PrefetchedRows:
    """A RowStore of nothing: rows are brought to the L2, for a request that follows."""

    f: Function

    def fetch(self, row: int, chunk: int, source: Address, live: Reg | None) -> None:
        """See RowStore."""
        self.f.emit("prefetch.global.L2", source, guard=live)


@dataclass(frozen=True, slots=True)
class RowLoader:
    """Requests the rows of a step, from `pointer` on, this lane's place in the first, and moves it to the next step."""

    f: Function
    name: str
    lanes: LaneMap
    rows: int
    pointer: Reg
    row_bytes: Reg
    step_bytes: Reg

    def load(self, remaining: Reg, store: RowStore) -> None:
        """Request the rows, of which `remaining` are there: none when not positive; rows that are missing become +0."""
        f = self.f
        f.phase(f"load {self.name}")
        partly, loaded = f.label(f"load_{self.name}_partly"), f.label(f"loaded_{self.name}")
        f.emit("bra.uni", partly, guard=f.new("setp.lt.s32", remaining, self.rows))
        self.each_row(store, None)
        self.go_on()
        f.emit("bra.uni", loaded)
        f.place(partly)
        f.emit("bra.uni", loaded, guard=f.new("setp.le.s32", remaining, 0))
        f.phase(f"load {self.name}, masked")
        self.each_row(store, remaining)
        f.place(loaded)

    def go_on(self) -> None:
        """Move to the next step."""
        self.f.emit("add.s64", self.pointer, self.pointer, self.step_bytes)

    def each_row(self, store: RowStore, remaining: Reg | None) -> None:
        """Request the step's rows where they are; None: all are there. The pointer stays."""
        f, pointer = self.f, self.pointer
        for row in range(self.rows):
            live = None if remaining is None else f.new("setp.gt.s32", remaining, row)
            for chunk in range(self.lanes.chunks):
                store.fetch(row, chunk, at_global(pointer, self.lanes.chunk_bytes(chunk)), live)
            if row + 1 < self.rows:
                pointer = f.new("add.s64", pointer, self.row_bytes)
