"""The warps of a block merge their states in order and write the split's (m, s, acc) (contract, section 5).

Shared memory, in bytes: `acc[warp][head][quad][lane]`, 16 each, so that stores and loads touch every bank once; then
`m[head][warp]` and `s[head][warp]`, 4 each.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def merge_warps(
    f: Function,
    shared: Symbol,
    spec: PartialSpec,
    own: Ownership,
    state: WarpState,
    part: Sequence[Reg],
    place: tuple[Reg, Reg, Reg],
) -> None:
    """Exchange, merge and write.

    `part` holds the addresses of part_m, part_s and part_acc; `place` the group's first query head, the split and
    n_splits.
    """
    f.phase("exchange")
    base = f.new("mov.u32", shared)
    _store_state(f, spec, own, state, base)
    f.emit("bar.sync", 0)
    # A task is one quad of one head, 32 lanes of four dimensions; the warps share the tasks out.
    tasks = spec.group * spec.lane_map.quads
    for first in range(0, tasks, spec.warps):
        f.phase("merge")
        task = f.new("add.u32", state.warp, first)
        if first + spec.warps <= tasks:
            _merge_task(f, spec, state.lane, task, base, part, place)
            continue
        with f.skipped_if(f.new("setp.ge.u32", task, tasks), "no_task", uniform=True):
            _merge_task(f, spec, state.lane, task, base, part, place)
    f.emit("ret")


def _state_offsets(spec: PartialSpec) -> tuple[int, int]:
    """Where m and s start."""
    m = 4 * spec.warps * spec.group * spec.head_dim
    return m, m + 4 * spec.warps * spec.group


def _store_state(f: Function, spec: PartialSpec, own: Ownership, state: WarpState, base: Reg) -> None:
    m_offset, s_offset = _state_offsets(spec)
    quads = spec.lane_map.quads
    acc_base = f.new("mad.lo.u32", state.warp, spec.group * spec.head_dim * 4, base)
    acc_base = f.new("mad.lo.u32", state.lane, 16, acc_base)
    for head, acc in enumerate(state.acc):
        for quad in range(quads):
            offset = (head * quads + quad) * LANES * 16
            f.emit("st.shared.v4.f32", at_shared(acc_base, offset), Vec(tuple(acc[4 * quad : 4 * quad + 4])))
    warp_base = f.new("mad.lo.u32", state.warp, 4, base)
    for head in range(spec.group):
        lane, slot = own.owners[0, head]
        owner = f.new("setp.eq.u32", state.lane, lane)
        offset = head * spec.warps * 4
        f.emit("st.shared.f32", at_shared(warp_base, m_offset + offset), state.m[slot], guard=owner)
        f.emit("st.shared.f32", at_shared(warp_base, s_offset + offset), state.s[slot], guard=owner)


def _merge_task(
    f: Function, spec: PartialSpec, lane: Reg, task: Reg, base: Reg, part: Sequence[Reg], place: tuple[Reg, Reg, Reg]
) -> None:
    quads = spec.lane_map.quads
    shift = quads.bit_length() - 1
    head, quad = f.new("shr.u32", task, shift), f.new("and.b32", task, quads - 1)
    m, s, factor = _warp_factors(f, spec, lane, head, base)
    address = f.new("mad.lo.u32", lane, 16, f.new("mad.lo.u32", task, LANES * 16, base))
    total = constant(f, ZERO)
    acc = [constant(f, ZERO) for _ in range(4)]
    for warp in range(spec.warps):
        of_warp = f.regs(F32, 4)
        f.emit("ld.shared.v4.f32", Vec(tuple(of_warp)), at_shared(address, warp * spec.group * spec.head_dim * 4))
        f_w = shuffle(f, "idx", factor, warp)
        into(f, "fma.rn.f32", total, shuffle(f, "idx", s, warp), f_w)
        for a, x in zip(acc, of_warp, strict=True):
            into(f, "fma.rn.f32", a, x, f_w)
    _write(f, spec, lane, (head, quad), (m, total, acc), part, place)


def _warp_factors(f: Function, spec: PartialSpec, lane: Reg, head: Reg, base: Reg) -> tuple[Reg, Reg, Reg]:
    """The head's maximum over the warps, in every lane; in lane w, warp w's sum and factor."""
    m_offset, s_offset = _state_offsets(spec)
    address = f.new("mad.lo.u32", lane, 4, f.new("mad.lo.u32", head, 4 * spec.warps, base))
    m_w, s_w = constant(f, MINUS_MAX), constant(f, ZERO)
    there = f.new("setp.lt.u32", lane, spec.warps)
    f.emit("ld.shared.f32", m_w, at_shared(address, m_offset), guard=there)
    f.emit("ld.shared.f32", s_w, at_shared(address, s_offset), guard=there)
    m = xor_tree(f, "max.f32", m_w, LEVELS)
    return m, s_w, exponential(f, f.new("sub.rn.f32", m_w, m))


def _write(
    f: Function,
    spec: PartialSpec,
    lane: Reg,
    task: tuple[Reg, Reg],
    merged: tuple[Reg, Reg, list[Reg]],
    part: Sequence[Reg],
    place: tuple[Reg, Reg, Reg],
) -> None:
    f.phase("write")
    head, quad = task
    m, s, acc = merged
    first_head, split, n_splits = place
    index = f.new("mad.lo.u32", f.new("add.u32", first_head, head), n_splits, split)
    row = advance(f, part[2], index, 4 * spec.head_dim)
    row = advance(f, row, lane, 4 * spec.lane_map.vec)
    row = advance(f, row, quad, 4 * spec.lane_map.quad_stride)
    f.emit("st.global.v4.f32", at_global(row), Vec(tuple(acc)))
    # One thread a head writes m and s: lane 0 of the head's first quad.
    writes = f.new("setp.eq.u32", f.new("or.b32", lane, quad), 0)
    f.emit("st.global.f32", at_global(advance(f, part[0], index, 4)), m, guard=writes)
    f.emit("st.global.f32", at_global(advance(f, part[1], index, 4)), s, guard=writes)
