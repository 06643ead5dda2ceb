"""The warps of a block merge their states in order and write the split's (m, s, acc) (contract, section 5).

Shared memory, in bytes: each warp's part begins with `acc[head][quad][lane]`, 16 each, so that stores and loads touch
every bank once; behind all parts are `m[head][warp]` and `s[head][warp]`, 4 each.
"""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.butterfly import Ownership
from py_builder_kernel.kernels.exponential import ZERO, exponential
from py_builder_kernel.kernels.idioms import MINUS_MAX, advance, constant, into, shuffle, warp_maximum
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


@dataclass(frozen=True, slots=True)
class _Task:
    """A head of the group and a quad of its dimensions, and what the warps left for it.

    `none` tells that the warp has no such task. `m` and `s`: in lane w, warp w's. `acc`: each warp's four dimensions.
    """

    head: Reg
    quad: Reg
    none: Reg | None
    m: Reg
    s: Reg
    acc: list[list[Reg]]


class Merge:
    """Emits the exchange, the merge and the writes of one block."""

    def __init__(
        self, f: Function, shared: Symbol, spec: PartialSpec, state: WarpState, place: Place, *, part_bytes: int
    ) -> None:
        self.f = f
        self.spec = spec
        self.state = state
        self.place = place
        self.quads = spec.lane_map.quads
        self.part_bytes = part_bytes
        self.m_offset = spec.warps * part_bytes
        self.s_offset = self.m_offset + 4 * spec.warps * spec.group
        self.base = f.new("mov.u32", shared)

    def emit(self, own: Ownership) -> None:
        """Exchange, merge and write; `own` says which lane has which head's m and s."""
        f, warps = self.f, self.spec.warps
        f.phase("exchange")
        self._store_acc()
        self._store_m_and_s(own)
        f.emit("bar.sync", 0)
        # A task is one quad of one head, 32 lanes of four dimensions; the warps share the tasks out. All that a warp's
        # tasks need is read before the first is merged, so that they wait for it together.
        tasks = self.spec.group * self.quads
        read = [self._read(first, first + warps <= tasks, tasks) for first in range(0, tasks, warps)]
        for task in read:
            with f.skipped_if(task.none, "no_task", uniform=True):
                self._merge(task)
        f.emit("ret")

    def _store_acc(self) -> None:
        f = self.f
        base = f.new("mad.lo.u32", self.state.warp, self.part_bytes, self.base)
        base = f.new("mad.lo.u32", self.state.lane, 16, base)
        for head, acc in enumerate(self.state.acc):
            for quad in range(self.quads):
                address = at_shared(base, (head * self.quads + quad) * LANES * 16)
                f.emit("st.shared.v4.f32", address, Vec(tuple(acc[4 * quad : 4 * quad + 4])))

    def _store_m_and_s(self, own: Ownership) -> None:
        """A lane that is a head's first owner stores its m and s. Selected, as ptxas makes a branch of each guard."""
        f, state, group = self.f, self.state, self.spec.group
        base = f.new("mad.lo.u32", state.warp, 4, self.base)
        for slot, (m, s) in enumerate(zip(state.m, state.s, strict=True)):
            head = f.new("mov.u32", group)
            for number in range(group):
                lane, owned = own.owners[0, number]
                if owned == slot:
                    head = f.new("selp.b32", number, head, f.new("setp.eq.u32", state.lane, lane))
            owner = f.new("setp.lt.u32", head, group)
            place = f.new("mad.lo.u32", head, 4 * self.spec.warps, base)
            f.emit("st.shared.f32", at_shared(place, self.m_offset), m, guard=owner)
            f.emit("st.shared.f32", at_shared(place, self.s_offset), s, guard=owner)

    def _read(self, first: int, every: bool, tasks: int) -> _Task:
        """Read what the warps left for the warp's task from `first` on, which not `every` warp has."""
        f, lane = self.f, self.state.lane
        f.phase("read")
        number = f.new("add.u32", self.state.warp, first)
        task = _Task(
            head=f.new("shr.u32", number, self.quads.bit_length() - 1),
            quad=f.new("and.b32", number, self.quads - 1),
            none=None if every else f.new("setp.ge.u32", number, tasks),
            m=constant(f, MINUS_MAX),
            s=constant(f, ZERO),
            acc=[f.regs(F32, 4) for _ in range(self.spec.warps)],
        )
        address = f.new("mad.lo.u32", lane, 4, f.new("mad.lo.u32", task.head, 4 * self.spec.warps, self.base))
        with f.skipped_if(task.none, "not_read", uniform=True):
            there = f.new("setp.lt.u32", lane, self.spec.warps)
            f.emit("ld.shared.f32", task.m, at_shared(address, self.m_offset), guard=there)
            f.emit("ld.shared.f32", task.s, at_shared(address, self.s_offset), guard=there)
            acc = f.new("mad.lo.u32", lane, 16, f.new("mad.lo.u32", number, LANES * 16, self.base))
            for warp, of_warp in enumerate(task.acc):
                f.emit("ld.shared.v4.f32", Vec(tuple(of_warp)), at_shared(acc, warp * self.part_bytes))
        return task

    def _merge(self, task: _Task) -> None:
        """Merge one quad of one head over the warps, in order, and write it."""
        f = self.f
        f.phase("merge")
        m = warp_maximum(f, task.m)
        own = exponential(f, f.new("sub.rn.f32", task.m, m))
        factors = [shuffle(f, "idx", own, warp) for warp in range(self.spec.warps)]
        acc = [constant(f, ZERO) for _ in range(4)]
        for factor, of_warp in zip(factors, task.acc, strict=True):
            for a, x in zip(acc, of_warp, strict=True):
                into(f, "fma.rn.f32", a, x, factor)
        self._write(task, m, factors, acc)

    def _write(self, task: _Task, m: Reg, factors: list[Reg], acc: list[Reg]) -> None:
        f, place, lane = self.f, self.place, self.state.lane
        f.phase("write")
        index = f.new("mad.lo.u32", f.new("add.u32", place.first_head, task.head), place.n_splits, place.split)
        row = advance(f, place.part_acc, index, 4 * self.spec.head_dim)
        row = advance(f, row, lane, 4 * self.spec.lane_map.vec)
        row = advance(f, row, task.quad, 4 * self.spec.lane_map.quad_stride)
        f.emit("st.global.v4.f32", at_global(row), Vec(tuple(acc)))
        # The warp with a head's first quad writes its m and s, too.
        with f.skipped_if(f.new("setp.ne.u32", task.quad, 0), "written", uniform=True):
            total = constant(f, ZERO)
            for warp, factor in enumerate(factors):
                into(f, "fma.rn.f32", total, shuffle(f, "idx", task.s, warp), factor)
            first = f.new("setp.eq.u32", lane, 0)
            f.emit("st.global.f32", at_global(advance(f, place.part_m, index, 4)), m, guard=first)
            f.emit("st.global.f32", at_global(advance(f, place.part_s, index, 4)), total, guard=first)
