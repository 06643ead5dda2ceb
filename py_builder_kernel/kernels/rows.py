"""A warp step's rows of K or V: 16 bytes a lane and load, all requested before the first is used."""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.exponential import ZERO
from py_builder_kernel.kernels.lane_map import LaneMap
from py_builder_kernel.ptx import F32, Function, Reg, Vec, at_global


def row_registers(f: Function, lanes: LaneMap, rows: int) -> list[list[Reg]]:
    """Registers for a lane's words of each row."""
    return [f.regs(lanes.storage.word, lanes.chunks * lanes.words_per_load) for _ in range(rows)]


@dataclass(frozen=True, slots=True)
class RowLoader:
    """Loads `rows` from `pointer`, this lane's place in the step's first row, and moves it to the next step."""

    f: Function
    name: str
    lanes: LaneMap
    rows: list[list[Reg]]
    pointer: Reg
    row_bytes: Reg
    step_bytes: Reg

    def load(self, remaining: Reg) -> None:
        """Load the step's rows, of which `remaining` (perhaps fewer than none) are there; missing ones become +0."""
        f = self.f
        f.phase(f"load {self.name}")
        partly, loaded = f.label(f"load_{self.name}_partly"), f.label(f"loaded_{self.name}")
        f.emit("bra.uni", partly, guard=f.new("setp.lt.s32", remaining, len(self.rows)))
        self._each_row(None)
        f.emit("add.s64", self.pointer, self.pointer, self.step_bytes)
        f.emit("bra.uni", loaded)
        f.place(partly)
        f.phase(f"load {self.name}, masked")
        self._each_row(remaining)
        f.place(loaded)

    def _each_row(self, remaining: Reg | None) -> None:
        f, pointer = self.f, self.pointer
        for row, words in enumerate(self.rows):
            live = None
            if remaining is not None:
                live = f.new("setp.gt.s32", remaining, row)
                for word in words:
                    f.emit(f"mov.{word.dtype}", word, ZERO if word.dtype == F32 else 0)
            self._row(words, pointer, live)
            if row + 1 < len(self.rows):
                pointer = f.new("add.s64", pointer, self.row_bytes)

    def _row(self, words: list[Reg], pointer: Reg, live: Reg | None) -> None:
        lanes = self.lanes
        count = lanes.words_per_load
        for chunk in range(lanes.chunks):
            part = Vec(tuple(words[chunk * count : (chunk + 1) * count]))
            address = at_global(pointer, lanes.chunk_bytes(chunk))
            # Read once: keeping the lines in L1 would only push out q and the code's constants.
            self.f.emit(f"ld.global.nc.L1::no_allocate.v{count}.{lanes.storage.word}", part, address, guard=live)
