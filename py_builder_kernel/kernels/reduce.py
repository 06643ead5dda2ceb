"""The reduce kernel: merges the splits of one query head and divides (docs/contract.md, section 6).

A block takes 32 dimensions of a head; warp c sums the splits of class c, lane l the tile's dimension l. A lane also
takes the factor of one split in 32 of the class, and the warp then walks through the factors in order, so that each
is computed once a warp. The kernel is a chain of waits for memory, so what can be requested early is. Shared memory
does not depend on the number of splits.
"""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.butterfly import LEVELS
from py_builder_kernel.kernels.dependent import let_next_start, wait_for_previous
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
from py_builder_kernel.ptx import F32, U32, U64, Address, Function, Module, Param, Reg, Symbol, at_global, at_shared
from py_builder_kernel.ptx.special import CTAID_X, CTAID_Y

CLASSES = 8
# Rows of part_acc requested together, before the first is used; divides the 32 lanes.
BATCH = 8
# Maxima that a lane requests together.
UNROLL = 4


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
        """All that the first sums need is requested before the maximum over the splits, which takes as long to come."""
        f = self.f
        let_next_start(f)
        self._place()
        wait_for_previous(f)
        self._load_own()
        self._load_batch()
        maximum = self._maximum()
        self.sum, self.acc = constant(f, ZERO), constant(f, ZERO)
        done = f.label("classes")
        f.emit("bra.uni", done, guard=f.new("setp.le.s32", self.left, 0))
        self._factors(maximum)
        batch = f.label("batch")
        f.place(batch)
        self._sums()
        f.emit("sub.s32", self.left, self.left, BATCH)
        f.emit("bra.uni", done, guard=f.new("setp.le.s32", self.left, 0))
        self._load_batch()
        f.emit("add.u32", self.source, self.source, BATCH)
        f.emit("bra.uni", batch, guard=f.new("setp.lt.u32", self.source, LANES))
        self._load_own()
        self._factors(maximum)
        f.emit("mov.u32", self.source, 0)
        f.emit("bra.uni", batch)
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
        self.all_m = advance(f, global_pointer(f, params.part_m), first, 4)
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
        self.m, self.s, self.factor = f.regs(F32, 3)
        self.rows = f.regs(F32, BATCH)
        self.source = f.new("mov.u32", 0)
        out = advance_wide(f, global_pointer(f, params.out), self.head, stride_bytes(f, params.out_stride_head, 4))
        self.out = advance(f, out, column, 4)

    def _load_own(self) -> None:
        """Request this lane's own split of the next 32 of the class: its m and s."""
        f = self.f
        f.phase("load m and s")
        f.emit("mov.f32", self.m, MINUS_MAX)
        f.emit("mov.f32", self.s, ZERO)
        there = f.new("setp.lt.s32", self.lane, self.left)
        for value, pointer in ((self.m, self.own_m), (self.s, self.own_s)):
            f.emit("ld.global.f32", value, at_global(pointer), guard=there)
            f.emit("add.s64", pointer, pointer, 4 * CLASSES * LANES)

    def _load_batch(self) -> None:
        """Request the next BATCH rows of part_acc, as far as the class has them."""
        f = self.f
        f.phase("load acc")
        stride = CLASSES * self.spec.head_dim * 4
        for i, row in enumerate(self.rows):
            f.emit("mov.f32", row, ZERO)
            f.emit("ld.global.f32", row, at_global(self.row, i * stride), guard=f.new("setp.gt.s32", self.left, i))
        f.emit("add.s64", self.row, self.row, BATCH * stride)

    def _maximum(self) -> Reg:
        """The maximum over all splits, in every lane of every warp; UNROLL requests of a lane are in flight at once."""
        f = self.f
        f.phase("maximum")
        maximum = constant(f, MINUS_MAX)
        split = f.new("mov.u32", self.lane)
        pointer = advance(f, self.all_m, self.lane, 4)
        step = f.label("maximum_step")
        f.place(step)
        found = [constant(f, MINUS_MAX) for _ in range(UNROLL)]
        for i, m in enumerate(found):
            there = f.new("setp.lt.u32", f.new("add.u32", split, i * LANES), self.n_splits)
            f.emit("ld.global.f32", m, at_global(pointer, 4 * i * LANES), guard=there)
        for m in found:
            f.emit("max.f32", maximum, maximum, m)
        f.emit("add.u32", split, split, UNROLL * LANES)
        f.emit("add.s64", pointer, pointer, 4 * UNROLL * LANES)
        # Lanes leave together: the block of splits begins at lane 0's.
        first = f.new("sub.u32", split, self.lane)
        f.emit("bra.uni", step, guard=f.new("setp.lt.u32", first, self.n_splits))
        return xor_tree(f, "max.f32", maximum, LEVELS)

    def _factors(self, maximum: Reg) -> None:
        """The factor E(m - M) of each lane's own split."""
        f = self.f
        f.phase("factors")
        f.emit("mov.f32", self.factor, exponential(f, f.new("sub.rn.f32", self.m, maximum)))

    def _sums(self) -> None:
        """Add a batch of the class's splits in order."""
        f = self.f
        f.phase("sums")
        for i, row in enumerate(self.rows):
            there = f.new("setp.gt.s32", self.left, i)
            lane = f.new("add.u32", self.source, i)
            factor, s = shuffle(f, "idx", self.factor, lane), shuffle(f, "idx", self.s, lane)
            # An absent split is no addition: +0 times a factor could still turn a sum of -0 into +0.
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
