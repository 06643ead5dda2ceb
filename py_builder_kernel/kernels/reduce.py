"""The reduce kernel: merges the splits of one query head and divides (docs/contract.md, section 6).

A block takes 32 dimensions of a head; warp c sums the splits of class c, lane l the tile's dimension l. A lane also
takes the factor of one split in 32 of the class, and the warp then walks through the factors in order, so that each
is computed once a warp. Shared memory does not depend on the number of splits.
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
    lane_and_warp,
    load_param,
    shuffle,
    stride_bytes,
    xor_tree,
)
from py_builder_kernel.kernels.lane_map import LANES
from py_builder_kernel.kernels.spec import ReduceSpec
from py_builder_kernel.ptx import U32, U64, Address, Function, Module, Param, Reg, Symbol, at_global, at_shared
from py_builder_kernel.ptx.special import CTAID_X, CTAID_Y

CLASSES = 8
# Rows of part_acc requested together, before the first is used.
BATCH = 8


@dataclass(frozen=True, slots=True)
class Params:
    """The entry's parameters, in the order of the contract (section 8)."""

    part_m: Param
    part_s: Param
    part_acc: Param
    out: Param
    n_splits: Param
    out_stride_head: Param

    @staticmethod
    def declare(f: Function) -> Params:
        """Declare them all."""
        names = Params.__dataclass_fields__
        return Params(**{name: f.param(name, U32 if name == "n_splits" else U64) for name in names})


def emit_reduce(module: Module, spec: ReduceSpec) -> Function:
    """Add the reduce kernel of `spec` to the module."""
    f = module.function(spec.entry, max_threads=32 * CLASSES)
    _Reduce(f, spec, Params.declare(f)).emit()
    return f


class _Reduce:
    """The kernel's registers, and one method a phase."""

    def __init__(self, f: Function, spec: ReduceSpec, params: Params) -> None:
        self.f = f
        self.spec = spec
        self.params = params

    def emit(self) -> None:
        f = self.f
        self._place()
        maximum = self._maximum()
        self.sum, self.acc = constant(f, ZERO), constant(f, ZERO)
        block = f.label("factors")
        done = f.label("classes")
        f.emit("bra.uni", done, guard=f.new("setp.le.s32", self.left, 0))
        f.place(block)
        self._factors(maximum)
        self._block()
        f.emit("sub.s32", self.left, self.left, LANES)
        f.emit("bra.uni", block, guard=f.new("setp.gt.s32", self.left, 0))
        f.place(done)
        self._classes()

    def _place(self) -> None:
        f, params = self.f, self.params
        f.phase("place")
        self.lane, self.warp = lane_and_warp(f)
        self.head = f.new("mov.u32", CTAID_X)
        self.tile = f.new("mov.u32", CTAID_Y)
        self.n_splits = load_param(f, params.n_splits)
        first = f.new("mul.lo.u32", self.head, self.n_splits)
        self.m = advance(f, global_pointer(f, params.part_m), first, 4)
        class_row = f.new("add.u32", first, self.warp)
        # This lane's own split of a block of 32 splits of the class.
        own = f.new("mad.lo.u32", self.lane, CLASSES, class_row)
        self.own_m = advance(f, global_pointer(f, params.part_m), own, 4)
        self.own_s = advance(f, global_pointer(f, params.part_s), own, 4)
        column = f.new("mad.lo.u32", self.tile, LANES, self.lane)
        row = advance(f, global_pointer(f, params.part_acc), class_row, 4 * self.spec.head_dim)
        self.row = advance(f, row, column, 4)
        # Splits of the class that are left: ceil((n_splits - c) / 8), not positive for an empty class.
        left = f.new("sub.s32", f.new("add.s32", self.n_splits, CLASSES - 1), self.warp)
        self.left = f.new("shr.s32", left, CLASSES.bit_length() - 1)
        out = advance_wide(f, global_pointer(f, params.out), self.head, stride_bytes(f, params.out_stride_head, 4))
        self.out = advance(f, out, column, 4)

    def _maximum(self) -> Reg:
        """The maximum over all splits, in every lane of every warp."""
        f = self.f
        f.phase("maximum")
        maximum = constant(f, MINUS_MAX)
        split = f.new("mov.u32", self.lane)
        pointer = advance(f, self.m, self.lane, 4)
        step, end = f.label("maximum_step"), f.label("maximum_end")
        f.place(step)
        f.emit("bra", end, guard=f.new("setp.ge.u32", split, self.n_splits))
        m = f.new("ld.global.f32", at_global(pointer))
        f.emit("max.f32", maximum, maximum, m)
        f.emit("add.u32", split, split, LANES)
        f.emit("add.s64", pointer, pointer, 4 * LANES)
        f.emit("bra", step)
        f.place(end)
        return xor_tree(f, "max.f32", maximum, LEVELS)

    def _factors(self, maximum: Reg) -> None:
        """Each lane's own split: its sum, and its factor E(m - M)."""
        f = self.f
        f.phase("factors")
        m, self.s = constant(f, MINUS_MAX), constant(f, ZERO)
        there = f.new("setp.lt.s32", self.lane, self.left)
        f.emit("ld.global.f32", m, at_global(self.own_m), guard=there)
        f.emit("ld.global.f32", self.s, at_global(self.own_s), guard=there)
        self.factor = exponential(f, f.new("sub.rn.f32", m, maximum))
        for pointer in (self.own_m, self.own_s):
            f.emit("add.s64", pointer, pointer, 4 * CLASSES * LANES)

    def _block(self) -> None:
        """Add up to 32 splits of the class in order, BATCH of them at a time."""
        f = self.f
        f.phase("sums")
        source = f.new("mov.u32", 0)
        count = f.new("min.s32", self.left, LANES)
        batch = f.label("batch")
        f.place(batch)
        self._batch(source, count)
        f.emit("add.u32", source, source, BATCH)
        f.emit("bra.uni", batch, guard=f.new("setp.lt.s32", source, count))

    def _batch(self, source: Reg, count: Reg) -> None:
        f = self.f
        stride = CLASSES * self.spec.head_dim * 4
        rows = [constant(f, ZERO) for _ in range(BATCH)]
        live = [f.new("setp.gt.s32", f.new("sub.s32", count, source), i) for i in range(BATCH)]
        for i, (row, there) in enumerate(zip(rows, live, strict=True)):
            f.emit("ld.global.f32", row, at_global(self.row, i * stride), guard=there)
        f.emit("add.s64", self.row, self.row, BATCH * stride)
        for i, (row, there) in enumerate(zip(rows, live, strict=True)):
            # An absent split is no addition: +0 times a factor could still turn a sum of -0 into +0.
            lane = f.new("add.u32", source, i)
            factor, s = shuffle(f, "idx", self.factor, lane), shuffle(f, "idx", self.s, lane)
            f.emit("fma.rn.f32", self.sum, s, factor, self.sum, guard=there)
            f.emit("fma.rn.f32", self.acc, row, factor, self.acc, guard=there)

    def _classes(self) -> None:
        """Add the classes in order and divide."""
        f = self.f
        f.phase("exchange")
        accs = f.shared_array("class_acc", 4 * CLASSES * LANES)
        sums = f.shared_array("class_sum", 4 * CLASSES)
        f.emit("st.shared.f32", at_shared(self._class_acc(accs)), self.acc)
        first_lane = f.new("setp.eq.u32", self.lane, 0)
        class_sum = f.new("mad.lo.u32", self.warp, 4, f.new("mov.u32", sums))
        f.emit("st.shared.f32", at_shared(class_sum), self.sum, guard=first_lane)
        f.emit("bar.sync", 0)
        with f.skipped_if(f.new("setp.ne.u32", self.warp, 0), "written", uniform=True):
            f.phase("merge")
            acc_base = self._class_acc(accs)
            s = self._in_order([at_shared(sums, 4 * c) for c in range(CLASSES)])
            acc = self._in_order([at_shared(acc_base, 4 * LANES * c) for c in range(CLASSES)])
            f.phase("write")
            f.emit("st.global.f32", at_global(self.out), f.new("div.rn.f32", acc, s))
        f.emit("ret")

    def _class_acc(self, accs: Symbol) -> Reg:
        """The shared address of this thread's class and dimension."""
        f = self.f
        class_base = f.new("mad.lo.u32", self.warp, 4 * LANES, f.new("mov.u32", accs))
        return f.new("mad.lo.u32", self.lane, 4, class_base)

    def _in_order(self, addresses: list[Address]) -> Reg:
        f = self.f
        total, *rest = [f.new("ld.shared.f32", address) for address in addresses]
        for value in rest:
            total = f.new("add.rn.f32", total, value)
        return total
