"""The reduce kernel: merges the splits of one query head and divides (docs/contract.md, section 6).

A block takes 32 dimensions of a head. Half a warp sums the splits of one class, a lane two dimensions of it: so half of
the block's warps do, with half as many instructions, and the others wait for them. A lane also takes the factor of one
split of its class, and the half walks through them in order, so that each is computed once. The kernel is a chain of
waits for memory, so what can be requested early is. Shared memory does not depend on the number of splits.
"""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.dependent import can_start_early, let_next_start, wait_for_previous
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
    warp_maximum,
)
from py_builder_kernel.kernels.lane_map import LANES
from py_builder_kernel.kernels.spec import ReduceSpec
from py_builder_kernel.ptx import F32, U32, U64, Address, Function, Module, Param, Reg, Vec, at_global, at_shared
from py_builder_kernel.ptx.special import CTAID_X, CTAID_Y

CLASSES = 8
CLASS_LANES = LANES // 2
DIMS = 2
WORKERS = CLASSES * CLASS_LANES // LANES
# So many blocks must fit a multiprocessor where a kernel can start early, which bounds a thread to 40 registers: then
# two blocks leave room for one of the next call's partial kernel, of 8 warps and 168 registers.
MIN_BLOCKS = 6
# Splits of a class that are requested together, in batches of which the later ones are passed over where a class is
# small. One wave of blocks on 132 multiprocessors makes 33 splits a head for four KV heads, 5 a class, and 66 for two.
TURN = 10
BATCH = 5
# Maxima that a lane requests together.
UNROLL = 3


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
    blocks = MIN_BLOCKS if can_start_early(module.target) else 1
    f = module.function(spec.entry, max_threads=32 * CLASSES, min_blocks=blocks)
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
        done = f.label("classes")
        f.emit("bra.uni", done, guard=f.new("setp.ge.u32", self.warp, WORKERS))
        if can_start_early(f.target):
            # Not for what it brings, which is not written yet: an address that is needed is computed ahead of the wait.
            # A class without a split has no row in part_acc: behind the last head's there may be nothing at all.
            f.emit("prefetch.global.L2", at_global(self.row), guard=f.new("setp.gt.s32", self.left, 0))
        wait_for_previous(f)
        self._load_turn()
        maximum = self._maximum()
        self.sum, self.acc = constant(f, ZERO), [constant(f, ZERO) for _ in range(DIMS)]
        turn, summed = f.label("turn"), f.label("summed")
        f.place(turn)
        self._factors(maximum)
        for first, rows in self.batches:
            self._sums(first, rows)
            f.emit("bra.uni", summed, guard=f.new("setp.le.s32", self.longest, first + BATCH))
        self._go_on()
        f.emit("bra.uni", turn)
        f.place(summed)
        self._leave()
        f.place(done)
        self._merge()

    def _place(self) -> None:
        f, params = self.f, self.params
        f.phase("place")
        self.lane, self.warp = lane_and_warp(f)
        self.of_class = f.new("and.b32", self.lane, CLASS_LANES - 1)
        first_class = f.new("mul.lo.u32", self.warp, CLASSES // WORKERS)
        self.split_class = f.new("add.u32", first_class, f.new("shr.u32", self.lane, CLASS_LANES.bit_length() - 1))
        self.n_splits = load_param(f, params.n_splits)
        first = f.new("mul.lo.u32", f.new("mov.u32", CTAID_X), self.n_splits)
        self.all_m = advance(f, global_pointer(f, params.part_m), first, 4)
        class_row = f.new("add.u32", first, self.split_class)
        # This lane's own split of the turn.
        self.own = f.new("mad.lo.u32", self.of_class, CLASSES, class_row)
        row = advance(f, global_pointer(f, params.part_acc), class_row, 4 * self.spec.head_dim)
        column = f.new("mad.lo.u32", f.new("mov.u32", CTAID_Y), CLASS_LANES, self.of_class)
        self.row = advance(f, row, column, 4 * DIMS)
        self.left, self.longest = self._splits_of(self.split_class), self._splits_of(first_class)
        self.m, self.s, self.factor = f.regs(F32, 3)
        self.batches = [(first, [f.regs(F32, DIMS) for _ in range(BATCH)]) for first in range(0, TURN, BATCH)]

    def _splits_of(self, split_class: Reg) -> Reg:
        """The splits of a class: ceil((n_splits - c) / 8), not positive for an empty one; no more than an earlier's."""
        f = self.f
        left = f.new("sub.s32", f.new("add.s32", self.n_splits, CLASSES - 1), split_class)
        return f.new("shr.s32", left, CLASSES.bit_length() - 1)

    def _load_turn(self) -> None:
        """Request the turn's rows of part_acc, as far as the class has them, and m and s of this lane's own split."""
        f = self.f
        f.phase("load m and s")
        f.emit("mov.f32", self.m, MINUS_MAX)
        f.emit("mov.f32", self.s, ZERO)
        there = f.new("setp.lt.s32", self.of_class, self.left)
        for value, array in ((self.m, self.params.part_m), (self.s, self.params.part_s)):
            pointer = advance(f, global_pointer(f, array), self.own, 4)
            f.emit("ld.global.f32", value, at_global(pointer), guard=there)
        f.phase("load acc")
        stride = CLASSES * self.spec.head_dim * 4
        for first, rows in self.batches:
            none = f.new("setp.le.s32", self.longest, first) if first else None
            with f.skipped_if(none, "no_batch", uniform=True):
                for i, row in enumerate(rows, first):
                    for element in row:
                        f.emit("mov.f32", element, ZERO)
                    there = f.new("setp.gt.s32", self.left, i)
                    f.emit(f"ld.global.v{DIMS}.f32", Vec(tuple(row)), at_global(self.row, i * stride), guard=there)

    def _go_on(self) -> None:
        """To the class's next TURN splits."""
        f = self.f
        f.phase("next turn")
        f.emit("sub.s32", self.left, self.left, TURN)
        f.emit("sub.s32", self.longest, self.longest, TURN)
        f.emit("add.u32", self.own, self.own, TURN * CLASSES)
        f.emit("add.s64", self.row, self.row, TURN * CLASSES * self.spec.head_dim * 4)
        self._load_turn()

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
        return warp_maximum(f, maximum)

    def _factors(self, maximum: Reg) -> None:
        """The factor E(m - M) of each lane's own split."""
        f = self.f
        f.phase("factors")
        f.emit("mov.f32", self.factor, exponential(f, f.new("sub.rn.f32", self.m, maximum)))

    def _sums(self, first: int, rows: list[list[Reg]]) -> None:
        """Add a batch of the turn's splits in order, of which `first` is the first."""
        f = self.f
        f.phase("sums")
        for i, row in enumerate(rows, first):
            there = f.new("setp.gt.s32", self.left, i)
            factor, s = (shuffle(f, "idx", own, i, width=CLASS_LANES) for own in (self.factor, self.s))
            # An absent split is no addition: +0 times a factor could still turn a sum of -0 into +0.
            f.emit("fma.rn.f32", self.sum, s, factor, self.sum, guard=there)
            for total, element in zip(self.acc, row, strict=True):
                f.emit("fma.rn.f32", total, element, factor, total, guard=there)

    def _leave(self) -> None:
        """Leave the class's sums for the block's first warp."""
        f = self.f
        f.phase("exchange")
        self.accs = f.shared_array("class_acc", 4 * CLASSES * LANES)
        self.class_sums = f.shared_array("class_sum", 4 * CLASSES)
        place = f.new("mad.lo.u32", self.split_class, 4 * LANES, f.new("mov.u32", self.accs))
        place = f.new("mad.lo.u32", self.of_class, 4 * DIMS, place)
        f.emit(f"st.shared.v{DIMS}.f32", at_shared(place), Vec(tuple(self.acc)))
        first_lane = f.new("setp.eq.u32", self.of_class, 0)
        class_sum = f.new("mad.lo.u32", self.split_class, 4, f.new("mov.u32", self.class_sums))
        f.emit("st.shared.f32", at_shared(class_sum), self.sum, guard=first_lane)

    def _merge(self) -> None:
        """Add the classes in order and divide, a lane one dimension."""
        f, params = self.f, self.params
        f.emit("bar.sync", 0)
        with f.skipped_if(f.new("setp.ne.u32", self.warp, 0), "written", uniform=True):
            f.phase("merge")
            acc = f.new("mad.lo.u32", self.lane, 4, f.new("mov.u32", self.accs))
            s = self._in_order([at_shared(self.class_sums, 4 * c) for c in range(CLASSES)])
            total = self._in_order([at_shared(acc, 4 * LANES * c) for c in range(CLASSES)])
            f.phase("write")
            head_bytes = stride_bytes(f, params.out_stride_head, 4)
            out = advance_wide(f, global_pointer(f, params.out), f.new("mov.u32", CTAID_X), head_bytes)
            column = f.new("mad.lo.u32", f.new("mov.u32", CTAID_Y), LANES, self.lane)
            f.emit("st.global.f32", at_global(advance(f, out, column, 4)), f.new("div.rn.f32", total, s))
        f.emit("ret")

    def _in_order(self, addresses: list[Address]) -> Reg:
        f = self.f
        total, *rest = [f.new("ld.shared.f32", address) for address in addresses]
        for value in rest:
            total = f.new("add.rn.f32", total, value)
        return total
