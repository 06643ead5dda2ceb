"""The partial kernel: one block computes (m, s, acc) of one KV head and one split (docs/contract.md, section 5).

The algorithm is split-KV attention for one query position with an online softmax a warp (Dao et al., "Flash-Decoding
for long-context inference", 2023), its order of operations fixed by the contract. What is for speed and changes no bit:

- A block serves all query heads of its group, so K and V are read once.
- The rows of a warp step are requested, 16 bytes a lane, before the first is used, and those of the next step while
  this one is computed (see `staging`).
- The scores of all rows and heads are summed by one transposed butterfly; a lane then owns one or two scores, with
  their row slot's sum `l` and their head's `m`, and takes as many exponentials.
- Accumulators are rescaled in a branch that a warp takes only when some maximum moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from py_builder_kernel.kernels.butterfly import LEVELS, Butterfly, Ownership
from py_builder_kernel.kernels.dependent import can_start_early, let_next_start, wait_for_previous
from py_builder_kernel.kernels.exponential import ONE, ZERO, exponential
from py_builder_kernel.kernels.idioms import (
    ALL_LANES,
    MINUS_INF,
    MINUS_MAX,
    advance,
    advance_wide,
    constant,
    global_pointer,
    into,
    lane_and_warp,
    load_f32,
    load_param,
    shuffle,
    stride_bytes,
    unpack_row,
    xor_tree,
)
from py_builder_kernel.kernels.merge import Merge, Place, WarpState
from py_builder_kernel.kernels.rows import PrefetchedRows, RowLoader
from py_builder_kernel.kernels.scale import scaled
from py_builder_kernel.kernels.spec import PartialSpec
from py_builder_kernel.kernels.staging import OwnRow, RegisterStaging, RingStaging, Staging, part_bytes, ring_shape
from py_builder_kernel.ptx import U32, U64, Function, Module, Param, Reg, at_global
from py_builder_kernel.ptx.special import CTAID_X, CTAID_Y

# Registers a thread at most, by warps of a block, where a kernel can start early: 12 warps of 168 would take all of a
# multiprocessor, 144 leave room beside them for a block of the reduce kernel (256 threads of 40).
MAX_REGISTERS = {12: 144}


@dataclass(frozen=True, slots=True)
class Params:
    """The entry's parameters, in the order of the contract (section 8)."""

    q: Param
    k: Param
    v: Param
    part_m: Param
    part_s: Param
    part_acc: Param
    kv_len: Param
    chunk: Param
    n_splits: Param
    q_stride_head: Param
    k_stride_row: Param
    k_stride_head: Param
    v_stride_row: Param
    v_stride_head: Param

    @staticmethod
    def declare(f: Function) -> Params:
        """Declare them all."""
        counts = {"kv_len", "chunk", "n_splits"}
        return Params(**{name: f.param(name, U32 if name in counts else U64) for name in Params.__dataclass_fields__})


def emit_partial(module: Module, spec: PartialSpec) -> Function:
    """Add the partial kernel of `spec` to the module."""
    registers = MAX_REGISTERS.get(spec.warps) if can_start_early(module.target) else None
    f = module.function(spec.entry, max_threads=32 * spec.warps, max_registers=registers)
    _Partial(f, module, spec, Params.declare(f)).emit()
    return f


class _Partial:
    """The kernel's registers, and one method a phase."""

    def __init__(self, f: Function, module: Module, spec: PartialSpec, params: Params) -> None:
        self.f = f
        self.module = module
        self.spec = spec
        self.params = params
        self.lanes = spec.lane_map
        self.own = Ownership(spec.rows, spec.group)
        self.ring = ring_shape(spec, f.target)
        self.part_bytes = part_bytes(spec, self.ring)

    def emit(self) -> None:
        f = self.f
        let_next_start(f)
        self._place()
        self._staging()
        self._place_q()
        if can_start_early(f.target):
            self._prefetch()
        self._start()
        wait_for_previous(f)
        done = f.label("merge")
        f.emit("bra.uni", done, guard=self.idle)
        self.staging.request_first(self.remaining)
        self._load_q()
        step = f.label("step")
        f.place(step)
        self._step()
        f.emit("bra.uni", step, guard=f.new("setp.gt.s32", self.remaining, 0))
        f.place(done)
        self.staging.drained()
        self._merge()

    def _step(self) -> None:
        f, staging = self.f, self.staging
        rest = f.new("sub.s32", self.remaining, self.spec.warps * self.spec.rows)
        staging.begin_step(self.remaining)
        scores = self._scores(staging.keys())
        staging.keys_used(rest)
        scores = self._masked(scores)
        self._maximum(scores)
        self._values(self._weights(scores), staging.values())
        staging.end_step(rest)
        f.emit("mov.b32", self.remaining, rest)

    def _place(self) -> None:
        """Which rows are this warp's: `remaining` is the number of the split's rows from this step's first one on."""
        f, params = self.f, self.params
        f.phase("place")
        self.lane, self.warp = lane_and_warp(f)
        self.kv_head = f.new("mov.u32", CTAID_X)
        self.split = f.new("mov.u32", CTAID_Y)
        chunk, kv_len = load_param(f, params.chunk), load_param(f, params.kv_len)
        first = f.new("mul.lo.u32", self.split, chunk)
        # The length of the split, not its end: first + chunk may pass 2^32.
        length = f.new("min.u32", chunk, f.new("sub.u32", kv_len, first))
        before = f.new("mul.lo.u32", self.warp, self.spec.rows)
        self.first_row = f.new("add.u32", first, before)
        self.remaining = f.new("sub.s32", length, before)
        self.idle = f.new("setp.le.s32", self.remaining, 0)
        self.bits = {level: f.new("setp.ne.u32", f.new("and.b32", self.lane, level), 0) for level in LEVELS}
        # The row whose scores this lane will own: its bits from the lane's, the highest first (Ownership.row).
        reversed_lane = f.new("shr.u32", f.new("brev.b32", self.lane), 32 - len(LEVELS))
        self.row = f.new("and.b32", reversed_lane, self.spec.rows - 1)

    def _start(self) -> None:
        """The state of a warp that has seen no row."""
        f, spec = self.f, self.spec
        f.phase("start")
        self.m = [constant(f, MINUS_MAX) for _ in range(self.own.slots)]
        self.sums = [constant(f, ZERO) for _ in range(self.own.slots)]
        self.acc = [[constant(f, ZERO) for _ in range(self.lanes.elements)] for _ in range(spec.group)]

    def _staging(self) -> None:
        f, params = self.f, self.params
        f.phase("addresses")
        k = self._loader("k", params.k, params.k_stride_row, params.k_stride_head)
        v = self._loader("v", params.v, params.v_stride_row, params.v_stride_head)
        self.staging: Staging
        if self.ring is None:
            self.staging = RegisterStaging(f, self.lanes, k, v)
        else:
            self.staging = RingStaging(
                *(f, k, v),
                ring=self.ring,
                part_bytes=self.part_bytes,
                shared=self.module.dynamic_shared(),
                thread=(self.lane, self.warp),
                own_row=OwnRow(self.row, tuple(self.bits[level] for level in self.own.row_levels)),
            )
        self.loaders = (k, v)

    def _prefetch(self) -> None:
        """Bring the first step's rows to the L2 while the kernel before this one still runs."""
        f = self.f
        f.phase("prefetch")
        for loader in self.loaders:
            loader.each_row(PrefetchedRows(f), self.remaining)
        # In warps without rows alone, and for nothing that it brings: the address is then computed ahead of the wait.
        # All warps of all blocks would meet at the query's few lines, and be 1 us later.
        f.emit("prefetch.global.L2", at_global(self.q_pointer), guard=self.idle)

    def _loader(self, name: str, base: Param, stride_row: Param, stride_head: Param) -> RowLoader:
        f, storage = self.f, self.lanes.storage
        row_bytes = stride_bytes(f, stride_row, storage.size)
        pointer = advance_wide(f, global_pointer(f, base), self.kv_head, stride_bytes(f, stride_head, storage.size))
        pointer = advance_wide(f, pointer, self.first_row, row_bytes)
        pointer = advance(f, pointer, self.lane, self.lanes.vec * storage.size)
        step_bytes = f.new("mul.lo.u64", row_bytes, self.spec.warps * self.spec.rows)
        return RowLoader(f, name, self.lanes, self.spec.rows, pointer, row_bytes, step_bytes)

    def _place_q(self) -> None:
        f, params = self.f, self.params
        self.q_head_bytes = stride_bytes(f, params.q_stride_head, 4)
        first_head = f.new("mul.lo.u32", self.kv_head, self.spec.group)
        pointer = advance_wide(f, global_pointer(f, params.q), first_head, self.q_head_bytes)
        self.q_pointer = advance(f, pointer, self.lane, self.lanes.vec * 4)

    def _load_q(self) -> None:
        """The group's query heads, as f32 in the lane map, for the whole kernel."""
        f, pointer = self.f, self.q_pointer
        f.phase("load q")
        self.q = []
        for head in range(self.spec.group):
            offsets = [self.lanes.f32_bytes(element) for element in range(0, self.lanes.elements, 4)]
            self.q.append(load_f32(f, [at_global(pointer, offset) for offset in offsets], cache=".nc"))
            if head + 1 < self.spec.group:
                pointer = f.new("add.s64", pointer, self.q_head_bytes)

    def _scores(self, rows: Iterable[list[Reg]]) -> list[Reg]:
        """The scores that this lane owns: all rows by all heads, reduced together."""
        f = self.f
        f.phase("scores")
        butterfly = Butterfly(f, self.own, self.bits, rows_ordered=self.ring is not None)
        for words in rows:
            k = unpack_row(f, self.lanes.storage, words)
            butterfly.add_row([self._dot(q, k) for q in self.q])
        return [scaled(f, x, self.spec.head_dim) for x in butterfly.finish()]

    def _dot(self, q: list[Reg], k: list[Reg]) -> Reg:
        x = self.f.new("mul.rn.f32", q[0], k[0])
        for a, b in zip(q[1:], k[1:], strict=True):
            x = self.f.new("fma.rn.f32", a, b, x)
        return x

    def _masked(self, scores: list[Reg]) -> list[Reg]:
        """Rows at and past the split's end score -inf, whatever was computed for them."""
        f = self.f
        f.phase("mask")
        live = f.new("setp.lt.s32", self.row, self.remaining)
        return [f.new("selp.f32", score, MINUS_INF, live) for score in scores]

    def _maximum(self, scores: list[Reg]) -> None:
        """Move the maxima, and rescale what was summed under the old ones; skipped by warps in which none moves."""
        f = self.f
        f.phase("maximum")
        moved = f.new("setp.gt.f32", scores[0], self.m[0])
        for score, m in zip(scores[1:], self.m[1:], strict=True):
            moved = f.new("or.pred", moved, f.new("setp.gt.f32", score, m))
        some = f.new("vote.sync.any.pred", moved, ALL_LANES)
        with f.skipped_if(~some, "maxima_stand", uniform=True):
            f.phase("rescale")
            factors = [self._move_maximum(slot, score) for slot, score in enumerate(scores)]
            for head, acc in enumerate(self.acc):
                lane, slot = self.own.owners[0, head]
                factor = shuffle(f, "idx", factors[slot], lane)
                for a in acc:
                    f.emit("mul.rn.f32", a, a, factor)

    def _move_maximum(self, slot: int, score: Reg) -> Reg:
        """The new maximum of a slot's head over all rows; the factor for what was summed under the old one."""
        f, m = self.f, self.m[slot]
        # max.f32 returns the number when the other operand is NaN: a NaN score is ignored.
        highest = xor_tree(f, "max.f32", f.new("max.f32", m, score), self.own.row_levels)
        factor = exponential(f, f.new("sub.rn.f32", m, highest))
        # A maximum that stands multiplies by exactly 1, even at +inf, where the difference is NaN.
        factor = f.new("selp.f32", factor, ONE, f.new("setp.gt.f32", highest, m))
        f.emit("mov.f32", m, highest)
        f.emit("mul.rn.f32", self.sums[slot], self.sums[slot], factor)
        return factor

    def _weights(self, scores: list[Reg]) -> list[Reg]:
        f = self.f
        f.phase("weights")
        weights = []
        for score, m, total in zip(scores, self.m, self.sums, strict=True):
            p = exponential(f, f.new("sub.rn.f32", score, m))
            f.emit("add.rn.f32", total, total, p)
            weights.append(p)
        return weights

    def _values(self, weights: list[Reg], rows: Iterable[list[Reg]]) -> None:
        """Add the weighted rows of V in row order, each weight brought from its owner to all lanes."""
        f = self.f
        f.phase("values")
        for row, words in enumerate(rows):
            v = unpack_row(f, self.lanes.storage, words)
            for head, acc in enumerate(self.acc):
                lane, slot = self.own.owners[row, head]
                p = shuffle(f, "idx", weights[slot], lane)
                for a, element in zip(acc, v, strict=True):
                    into(f, "fma.rn.f32", a, p, element)

    def _merge(self) -> None:
        f, params = self.f, self.params
        f.phase("sum of the row slots")
        # Row slots R/2 … 1 apart: the highest row bit first, which is the last of the levels that rows use.
        levels = tuple(reversed(self.own.row_levels))
        sums = [xor_tree(f, "add.rn.f32", total, levels) for total in self.sums]
        place = Place(
            part_m=global_pointer(f, params.part_m),
            part_s=global_pointer(f, params.part_s),
            part_acc=global_pointer(f, params.part_acc),
            first_head=f.new("mul.lo.u32", self.kv_head, self.spec.group),
            split=self.split,
            n_splits=load_param(f, params.n_splits),
        )
        state = WarpState(self.lane, self.warp, self.m, sums, self.acc)
        shared = self.module.dynamic_shared()
        Merge(f, shared, self.spec, state, place, part_bytes=self.part_bytes).emit(self.own)
