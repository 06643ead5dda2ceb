"""The naive kernel: one block a query head, no splits (docs/contract.md, section 9). It never changes.

Warp w takes the rows w, w + 8, … one at a time with an online softmax a row; then the block's 8 warps are merged.
Nothing here is shared with the split kernels but the exponential, the lane map and the scaling of scores.
"""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.butterfly import LEVELS
from py_builder_kernel.kernels.exponential import ZERO, exponential
from py_builder_kernel.kernels.idioms import (
    MINUS_MAX,
    advance,
    advance_wide,
    constant,
    global_pointer,
    into,
    lane_and_warp,
    load_f32,
    load_param,
    stride_bytes,
    unpack_row,
    xor_tree,
)
from py_builder_kernel.kernels.scale import scaled
from py_builder_kernel.kernels.spec import NaiveSpec
from py_builder_kernel.ptx import U32, U64, Function, Module, Param, Reg, Vec, at_global, at_shared
from py_builder_kernel.ptx.special import CTAID_X, TID_X

WARPS = 8


@dataclass(frozen=True, slots=True)
class Params:
    """The entry's parameters, in the order of the contract (section 8)."""

    q: Param
    k: Param
    v: Param
    out: Param
    kv_len: Param
    group_size: Param
    q_stride_head: Param
    k_stride_row: Param
    k_stride_head: Param
    v_stride_row: Param
    v_stride_head: Param
    out_stride_head: Param

    @staticmethod
    def declare(f: Function) -> Params:
        """Declare them all."""
        counts = {"kv_len", "group_size"}
        return Params(**{name: f.param(name, U32 if name in counts else U64) for name in Params.__dataclass_fields__})


def emit_naive(module: Module, spec: NaiveSpec) -> Function:
    """Add the naive kernel of `spec` to the module."""
    f = module.function(spec.entry, max_threads=32 * WARPS)
    _Naive(f, spec, Params.declare(f)).emit()
    return f


class _Naive:
    """The kernel's registers, and one method a phase."""

    def __init__(self, f: Function, spec: NaiveSpec, params: Params) -> None:
        self.f = f
        self.params = params
        self.head_dim = spec.head_dim
        self.lanes = spec.lane_map

    def emit(self) -> None:
        f = self.f
        self._place()
        self.m, self.l = constant(f, MINUS_MAX), constant(f, ZERO)
        self.acc = [constant(f, ZERO) for _ in range(self.lanes.elements)]
        row = f.new("mov.u32", self.warp)
        step, end = f.label("row"), f.label("rows_end")
        f.place(step)
        f.emit("bra.uni", end, guard=f.new("setp.ge.u32", row, self.kv_len))
        self._row()
        f.emit("add.u32", row, row, WARPS)
        f.emit("add.s64", self.k, self.k, self.k_step)
        f.emit("add.s64", self.v, self.v, self.v_step)
        f.emit("bra.uni", step)
        f.place(end)
        self._merge()

    def _place(self) -> None:
        f, params = self.f, self.params
        f.phase("place")
        self.lane, self.warp = lane_and_warp(f)
        self.head = f.new("mov.u32", CTAID_X)
        self.kv_len = load_param(f, params.kv_len)
        kv_head = f.new("div.u32", self.head, load_param(f, params.group_size))
        self.k, self.k_step = self._rows(params.k, kv_head, params.k_stride_row, params.k_stride_head)
        self.v, self.v_step = self._rows(params.v, kv_head, params.v_stride_row, params.v_stride_head)
        q = advance_wide(f, global_pointer(f, params.q), self.head, stride_bytes(f, params.q_stride_head, 4))
        q = advance(f, q, self.lane, 4 * self.lanes.vec)
        offsets = [self.lanes.f32_bytes(element) for element in range(0, self.lanes.elements, 4)]
        self.q = load_f32(f, [at_global(q, offset) for offset in offsets])

    def _rows(self, base: Param, kv_head: Reg, stride_row: Param, stride_head: Param) -> tuple[Reg, Reg]:
        """This lane's place in the warp's first row, and the bytes to its next one."""
        f, size = self.f, self.lanes.storage.size
        pointer = advance_wide(f, global_pointer(f, base), kv_head, stride_bytes(f, stride_head, size))
        row_bytes = stride_bytes(f, stride_row, size)
        pointer = advance_wide(f, pointer, self.warp, row_bytes)
        return advance(f, pointer, self.lane, self.lanes.vec * size), f.new("mul.lo.u64", row_bytes, WARPS)

    def _load(self, pointer: Reg) -> list[Reg]:
        lanes = self.lanes
        words: list[Reg] = []
        for chunk in range(lanes.chunks):
            part = self.f.regs(lanes.storage.word, lanes.words_per_load)
            mnemonic = f"ld.global.v{lanes.words_per_load}.{lanes.storage.word}"
            self.f.emit(mnemonic, Vec(tuple(part)), at_global(pointer, lanes.chunk_bytes(chunk)))
            words += part
        return unpack_row(self.f, lanes.storage, words)

    def _row(self) -> None:
        f = self.f
        f.phase("score")
        k = self._load(self.k)
        x = f.new("mul.rn.f32", self.q[0], k[0])
        for a, b in zip(self.q[1:], k[1:], strict=True):
            x = f.new("fma.rn.f32", a, b, x)
        score = scaled(f, xor_tree(f, "add.rn.f32", x, LEVELS), self.head_dim)
        f.phase("maximum")
        with f.skipped_if(~f.new("setp.gt.f32", score, self.m), "maximum_stands", uniform=True):
            factor = exponential(f, f.new("sub.rn.f32", self.m, score))
            for a in (self.l, *self.acc):
                f.emit("mul.rn.f32", a, a, factor)
            f.emit("mov.f32", self.m, score)
        f.phase("value")
        p = exponential(f, f.new("sub.rn.f32", score, self.m))
        f.emit("add.rn.f32", self.l, self.l, p)
        for a, v in zip(self.acc, self._load(self.v), strict=True):
            into(f, "fma.rn.f32", a, p, v)

    def _merge(self) -> None:
        """Thread d merges dimension d of all warps, in order, and divides."""
        f = self.f
        f.phase("exchange")
        ms = f.shared_array("warp_m", 4 * WARPS)
        sums = f.shared_array("warp_sum", 4 * WARPS)
        accs = f.shared_array("warp_acc", 4 * WARPS * self.head_dim)
        for name, value in ((ms, self.m), (sums, self.l)):
            f.emit("st.shared.f32", at_shared(f.new("mad.lo.u32", self.warp, 4, f.new("mov.u32", name))), value,
                   guard=f.new("setp.eq.u32", self.lane, 0))  # fmt: skip
        own = f.new("mad.lo.u32", self.warp, 4 * self.head_dim, f.new("mov.u32", accs))
        own = f.new("mad.lo.u32", self.lane, 4 * self.lanes.vec, own)
        for element in range(0, self.lanes.elements, 4):
            address = at_shared(own, self.lanes.f32_bytes(element))
            f.emit("st.shared.v4.f32", address, Vec(tuple(self.acc[element : element + 4])))
        f.emit("bar.sync", 0)
        dimension = f.new("mov.u32", TID_X)
        with f.skipped_if(f.new("setp.ge.u32", dimension, self.head_dim), "written"):
            f.phase("merge")
            self._merge_dimension(dimension, [f.new("mov.u32", name) for name in (ms, sums, accs)])
        f.emit("ret")

    def _merge_dimension(self, dimension: Reg, bases: list[Reg]) -> None:
        f = self.f
        m_base, s_base, acc_base = bases
        m = [f.new("ld.shared.f32", at_shared(m_base, 4 * warp)) for warp in range(WARPS)]
        highest = m[0]
        for other in m[1:]:
            highest = f.new("max.f32", highest, other)
        total, a = constant(f, ZERO), constant(f, ZERO)
        column = f.new("mad.lo.u32", dimension, 4, acc_base)
        for warp in range(WARPS):
            factor = exponential(f, f.new("sub.rn.f32", m[warp], highest))
            into(f, "fma.rn.f32", total, f.new("ld.shared.f32", at_shared(s_base, 4 * warp)), factor)
            into(f, "fma.rn.f32", a, f.new("ld.shared.f32", at_shared(column, 4 * self.head_dim * warp)), factor)
        f.phase("write")
        out_stride = stride_bytes(f, self.params.out_stride_head, 4)
        out = advance_wide(f, global_pointer(f, self.params.out), self.head, out_stride)
        f.emit("st.global.f32", at_global(advance(f, out, dimension, 4)), f.new("div.rn.f32", a, total))
