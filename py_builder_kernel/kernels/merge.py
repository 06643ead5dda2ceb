"""The warps of a block merge their states in order and write the split's (m, s, acc) (contract, section 5).

Shared memory, in bytes: `acc[warp][head][quad][lane]`, 16 each, so that stores and loads touch every bank once; then
`m[head][warp]` and `s[head][warp]`, 4 each.
"""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.butterfly import LEVELS, Ownership
from py_builder_kernel.kernels.exponential import ZERO, exponential
from py_builder_kernel.kernels.idioms import MINUS_MAX, advance, constant, into, shuffle, xor_tree
from py_builder_kernel.kernels.lane_map import LANES
from py_builder_kernel.kernels.spec import PartialSpec
from py_builder_kernel.ptx import F32, Function, Reg, Symbol, Vec, at_global, at_shared


@dataclass(frozen=True, slots=True)
class WarpState:
    """What a warp brings: m and s by slot in their owner lanes, acc by head in all lanes."""

    lane: Reg
    warp: Reg
    m: list[Reg]
    s: list[Reg]
    acc: list[list[Reg]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the block's result goes: the scratch arrays, the group's first query head, the split, their number."""

    part_m: Reg
    part_s: Reg
    part_acc: Reg
    first_head: Reg
    split: Reg
    n_splits: Reg


class Merge:
    """Emits the exchange, the merge and the writes of one block."""

    def __init__(self, f: Function, shared: Symbol, spec: PartialSpec, state: WarpState, place: Place) -> None:
        self.f = f
        self.spec = spec
        self.state = state
        self.place = place
        self.quads = spec.lane_map.quads
        self.acc_bytes = 4 * spec.group * spec.head_dim
        self.m_offset = spec.warps * self.acc_bytes
        self.s_offset = self.m_offset + 4 * spec.warps * spec.group
        self.base = f.new("mov.u32", shared)

    def emit(self, own: Ownership) -> None:
        """Exchange, merge and write; `own` says which lane has which head's m and s."""
        f, warps = self.f, self.spec.warps
        f.phase("exchange")
        self._store_acc()
        self._store_m_and_s(own)
        f.emit("bar.sync", 0)
        # A task is one quad of one head, 32 lanes of four dimensions; the warps share the tasks out.
        tasks = self.spec.group * self.quads
        for first in range(0, tasks, warps):
            task = f.new("add.u32", self.state.warp, first)
            if first + warps <= tasks:
                self._task(task)
                continue
            with f.skipped_if(f.new("setp.ge.u32", task, tasks), "no_task", uniform=True):
                self._task(task)
        f.emit("ret")

    def _store_acc(self) -> None:
        f = self.f
        base = f.new("mad.lo.u32", self.state.warp, self.acc_bytes, self.base)
        base = f.new("mad.lo.u32", self.state.lane, 16, base)
        for head, acc in enumerate(self.state.acc):
            for quad in range(self.quads):
                address = at_shared(base, (head * self.quads + quad) * LANES * 16)
                f.emit("st.shared.v4.f32", address, Vec(tuple(acc[4 * quad : 4 * quad + 4])))

    def _store_m_and_s(self, own: Ownership) -> None:
        f, state = self.f, self.state
        base = f.new("mad.lo.u32", state.warp, 4, self.base)
        for head in range(self.spec.group):
            lane, slot = own.owners[0, head]
            owner = f.new("setp.eq.u32", state.lane, lane)
            offset = 4 * head * self.spec.warps
            f.emit("st.shared.f32", at_shared(base, self.m_offset + offset), state.m[slot], guard=owner)
            f.emit("st.shared.f32", at_shared(base, self.s_offset + offset), state.s[slot], guard=owner)

    def _task(self, task: Reg) -> None:
        """Merge one quad of one head over the warps, in order."""
        f = self.f
        f.phase("merge")
        head = f.new("shr.u32", task, self.quads.bit_length() - 1)
        quad = f.new("and.b32", task, self.quads - 1)
        m, s, factor = self._warp_factors(head)
        address = f.new("mad.lo.u32", self.state.lane, 16, f.new("mad.lo.u32", task, LANES * 16, self.base))
        total = constant(f, ZERO)
        acc = [constant(f, ZERO) for _ in range(4)]
        for warp in range(self.spec.warps):
            of_warp = f.regs(F32, 4)
            f.emit("ld.shared.v4.f32", Vec(tuple(of_warp)), at_shared(address, warp * self.acc_bytes))
            f_w = shuffle(f, "idx", factor, warp)
            into(f, "fma.rn.f32", total, shuffle(f, "idx", s, warp), f_w)
            for a, x in zip(acc, of_warp, strict=True):
                into(f, "fma.rn.f32", a, x, f_w)
        self._write(head, quad, m, total, acc)

    def _warp_factors(self, head: Reg) -> tuple[Reg, Reg, Reg]:
        """The head's maximum over the warps, in every lane; in lane w, warp w's sum and factor."""
        f, lane = self.f, self.state.lane
        address = f.new("mad.lo.u32", lane, 4, f.new("mad.lo.u32", head, 4 * self.spec.warps, self.base))
        m_w, s_w = constant(f, MINUS_MAX), constant(f, ZERO)
        there = f.new("setp.lt.u32", lane, self.spec.warps)
        f.emit("ld.shared.f32", m_w, at_shared(address, self.m_offset), guard=there)
        f.emit("ld.shared.f32", s_w, at_shared(address, self.s_offset), guard=there)
        m = xor_tree(f, "max.f32", m_w, LEVELS)
        return m, s_w, exponential(f, f.new("sub.rn.f32", m_w, m))

    def _write(self, head: Reg, quad: Reg, m: Reg, s: Reg, acc: list[Reg]) -> None:
        f, place, lane = self.f, self.place, self.state.lane
        f.phase("write")
        index = f.new("mad.lo.u32", f.new("add.u32", place.first_head, head), place.n_splits, place.split)
        row = advance(f, place.part_acc, index, 4 * self.spec.head_dim)
        row = advance(f, row, lane, 4 * self.spec.lane_map.vec)
        row = advance(f, row, quad, 4 * self.spec.lane_map.quad_stride)
        f.emit("st.global.v4.f32", at_global(row), Vec(tuple(acc)))
        # One thread a head writes m and s: lane 0 of the head's first quad.
        writes = f.new("setp.eq.u32", f.new("or.b32", lane, quad), 0)
        f.emit("st.global.f32", at_global(advance(f, place.part_m, index, 4)), m, guard=writes)
        f.emit("st.global.f32", at_global(advance(f, place.part_s, index, 4)), s, guard=writes)
