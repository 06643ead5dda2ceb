"""Where the rows of K and V wait between memory and arithmetic. It changes no bit, only what is in flight and when.

- Registers: the next step's K is requested as soon as this step's scores exist, its V as soon as this step's values
  are added, into the registers that have just been used up.
- A ring of two steps or more in shared memory, filled by asynchronous copies: the whole next step is requested before
  this one has come, and its registers are free. Each lane copies exactly what it reads, so no warp waits for another
  one, and K is waited for without V, which comes while the scores are computed. What is copied is read once, so the L2
  is told to give it up first (evict_first).

The ring is better wherever it fits (on an H200, f16, 16 query heads: by 4 % at 4,096 keys and 2 % at 262,144; 24 query
heads: by 7 and 11 %).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from py_builder_kernel.kernels.dependent import can_start_early
from py_builder_kernel.kernels.exponential import ZERO
from py_builder_kernel.kernels.idioms import ALL_LANES
from py_builder_kernel.kernels.lane_map import LaneMap
from py_builder_kernel.kernels.rows import RowLoader, RowStore
from py_builder_kernel.kernels.spec import PartialSpec
from py_builder_kernel.ptx import F32, Address, Function, Reg, Symbol, Target, Vec, at_shared

MIN_STEPS = 2
# A ring of more bytes keeps more in flight and was no faster on an H200 (docs/performance.md).
RING_BYTES = 96 * 1024
# A thread's lane and its warp's number.
Thread = tuple[Reg, Reg]


class Staging(ABC):
    """The flow of rows through a warp's steps. `rest` is what `remaining` will be in the next step."""

    @abstractmethod
    def request_first(self, remaining: Reg) -> None:
        """Before the first step."""

    @abstractmethod
    def begin_step(self, remaining: Reg) -> None:
        """Before anything of the step is waited for."""

    @abstractmethod
    def keys(self) -> Iterator[list[Reg]]:
        """Wait for the step's rows of K; a lane's words of each, in order."""

    @abstractmethod
    def keys_used(self, rest: Reg) -> None:
        """When K is not needed any more."""

    @abstractmethod
    def values(self) -> Iterator[list[Reg]]:
        """The step's rows of V, as `keys`."""

    @abstractmethod
    def end_step(self, rest: Reg) -> None:
        """When V is not needed any more."""

    @abstractmethod
    def drained(self) -> None:
        """After the warp's last step, on the way of every warp: its part of shared memory is free afterwards."""


@dataclass(frozen=True, slots=True)
class RingShape:
    """A block's ring: how many steps it holds, how many rows a step of all warps has, and its bytes."""

    steps: int
    rows: int
    bytes: int


def ring_shape(spec: PartialSpec, target: Target) -> RingShape | None:
    """The block's ring: as many steps as RING_BYTES hold, but at least two; None where not even two fit a block."""
    step = spec.warps * _step_bytes(spec.lane_map, spec.rows)
    steps = max(MIN_STEPS, RING_BYTES // step)
    shape = RingShape(steps, spec.warps * spec.rows, steps * step)
    return shape if _shared_bytes(spec, shape) <= target.shared_per_block else None


def part_bytes(spec: PartialSpec, ring: RingShape | None) -> int:
    """A warp's part of shared memory: its ring, then its accumulators, which need not wait for another warp's ring."""
    return max(0 if ring is None else ring.bytes // spec.warps, spec.acc_bytes)


def dynamic_shared_bytes(spec: PartialSpec, target: Target) -> int:
    """Shared memory of a launch.

    Where a kernel may start early, a block takes so much that no second one fits the multiprocessor beside it.
    Otherwise those of the next call take the places that come free first, two on some multiprocessors and none on
    others, and stay where they are: on an H200, 77 us instead of 58 for 16 query heads and 60,000 keys.
    """
    used = _shared_bytes(spec, ring_shape(spec, target))
    return max(used, target.shared_alone) if can_start_early(target) else used


def _shared_bytes(spec: PartialSpec, ring: RingShape | None) -> int:
    return spec.warps * (part_bytes(spec, ring) + spec.sums_bytes)


def _row_bytes(lanes: LaneMap) -> int:
    return lanes.head_dim * lanes.storage.size


def _step_bytes(lanes: LaneMap, rows: int) -> int:
    return 2 * rows * _row_bytes(lanes)


class RegisterRows:
    """A RowStore of registers."""

    def __init__(self, f: Function, lanes: LaneMap, rows: int) -> None:
        self._f = f
        self._lanes = lanes
        self.words = [f.regs(lanes.storage.word, lanes.chunks * lanes.words_per_load) for _ in range(rows)]

    def fetch(self, row: int, chunk: int, source: Address, live: Reg | None) -> None:
        """See RowStore."""
        f, lanes = self._f, self._lanes
        count, dtype = lanes.words_per_load, lanes.storage.word
        part = self.words[row][chunk * count : (chunk + 1) * count]
        if live is not None:
            for word in part:
                f.emit(f"mov.{dtype}", word, ZERO if dtype == F32 else 0)
        # Read once: keeping the lines in L1 would only push out what is used again.
        f.emit(f"ld.global.nc.L1::no_allocate.v{count}.{dtype}", Vec(tuple(part)), source, guard=live)


class RegisterStaging(Staging):
    """Rows wait in registers."""

    def __init__(self, f: Function, lanes: LaneMap, k: RowLoader, v: RowLoader) -> None:
        self._k, self._v = k, v
        self._k_rows, self._v_rows = (RegisterRows(f, lanes, loader.rows) for loader in (k, v))

    def request_first(self, remaining: Reg) -> None:
        """See Staging."""
        self._k.load(remaining, self._k_rows)
        self._v.load(remaining, self._v_rows)

    def begin_step(self, remaining: Reg) -> None:
        """Nothing: all was requested in the step before."""

    def keys(self) -> Iterator[list[Reg]]:
        """See Staging; an instruction waits for the registers that it reads."""
        return iter(self._k_rows.words)

    def keys_used(self, rest: Reg) -> None:
        """See Staging."""
        self._k.load(rest, self._k_rows)

    def values(self) -> Iterator[list[Reg]]:
        """See Staging."""
        return iter(self._v_rows.words)

    def end_step(self, rest: Reg) -> None:
        """See Staging."""
        self._v.load(rest, self._v_rows)

    def drained(self) -> None:
        """Nothing: shared memory was not used."""


@dataclass(frozen=True, slots=True)
class RingRows:
    """A RowStore in shared memory, `offset` bytes into the slot that `slot` points to: this lane's place in it.

    `policy` is what the L2 is to do with the lines that are copied.
    """

    f: Function
    lanes: LaneMap
    slot: Reg
    offset: int
    policy: Reg

    def _at(self, slot: Reg, row: int, chunk: int) -> Address:
        return at_shared(slot, self.offset + row * _row_bytes(self.lanes) + self.lanes.chunk_bytes(chunk))

    def fetch(self, row: int, chunk: int, source: Address, live: Reg | None) -> None:
        """See RowStore."""
        self.copy(self._at(self.slot, row, chunk), source, live)

    def copy(self, place: Address, source: Address, live: Reg | None) -> None:
        """Copy a vector of this lane."""
        f, size = self.f, self.lanes.vec * self.lanes.storage.size
        # Past L1 (cg), which copies 16 bytes and nothing else. What a copy does not read it fills with zeros.
        mnemonic = f"cp.async.{'cg' if size == 16 else 'ca'}.shared.global.L2::cache_hint"
        if live is None:
            f.emit(mnemonic, place, source, size, self.policy)
        else:
            f.emit(mnemonic, place, source, size, f.new("selp.b32", size, 0, live), self.policy)

    def read(self, slot: Reg, rows: int) -> Iterator[list[Reg]]:
        """The rows of a slot, each loaded when it is asked for."""
        count, dtype = self.lanes.words_per_load, self.lanes.storage.word
        for row in range(rows):
            words: list[Reg] = []
            for chunk in range(self.lanes.chunks):
                part = self.f.regs(dtype, count)
                self.f.emit(f"ld.shared.v{count}.{dtype}", Vec(tuple(part)), self._at(slot, row, chunk))
                words += part
            yield words


@dataclass(frozen=True, slots=True)
class OwnRow:
    """The row of a step whose scores this lane will own: its number, and a predicate for each bit, the lowest first."""

    number: Reg
    bits: tuple[Reg, ...]


class OrderedRingRows:
    """A RowStore in RingRows: row r goes to place r xor `own`, in each lane another, so that what it reads there as its
    i-th row is row i xor `own`.
    """

    def __init__(self, rows: RingRows, own: OwnRow) -> None:
        f, row_bytes = rows.f, _row_bytes(rows.lanes)
        self._rows = rows
        self._own_bytes = f.new("mul.lo.u32", own.number, row_bytes)
        # From a row's place to the next one's, whose number ends in k zeros: its bit k is set, those below are cleared.
        self._moves: list[Reg] = []
        steps: list[Reg] = []
        for k, is_set in enumerate(own.bits):
            step = move = f.new("selp.b32", -(row_bytes << k), row_bytes << k, is_set)
            for lower in steps:
                move = f.new("sub.s32", move, lower)
            steps.append(step)
            self._moves.append(move)

    def fetch(self, row: int, chunk: int, source: Address, live: Reg | None) -> None:
        """See RowStore; rows come in order, each with all its chunks."""
        f, rows = self._rows.f, self._rows
        if chunk == 0 and row == 0:
            self._place = f.new("add.u32", rows.slot, self._own_bytes)
        elif chunk == 0:
            self._place = f.new("add.u32", self._place, self._moves[(row & -row).bit_length() - 1])
        rows.copy(at_shared(self._place, rows.offset + rows.lanes.chunk_bytes(chunk)), source, live)


class RingStaging(Staging):
    """Rows wait in a ring of some steps in shared memory: the warp's `acc`, later, takes its place.

    The code that requests a step stands once, at the top of the loop, and is run some steps ahead before the first step
    is computed: a block runs its code from a cold instruction cache, so what stands twice is paid for twice.
    """

    def __init__(
        self,
        f: Function,
        k: RowLoader,
        v: RowLoader,
        *,
        ring: RingShape,
        part_bytes: int,
        shared: Symbol,
        thread: Thread,
        own_row: OwnRow,
    ) -> None:
        self._f, self._k, self._v, self._ring = f, k, v, ring
        lanes = k.lanes
        lane, warp = thread
        self._step = _step_bytes(lanes, k.rows)
        base = f.new("mad.lo.u32", warp, part_bytes, f.new("mov.u32", shared))
        self._reading = f.new("mad.lo.u32", lane, lanes.vec * lanes.storage.size, base)
        self._filling = f.new("mov.u32", self._reading)
        if ring.steps == 2:
            second = f.new("add.u32", self._reading, self._step)
            self._both = f.new("add.u32", self._reading, second)
        else:
            self._end = f.new("add.u32", self._reading, ring.steps * self._step)
        policy = f.new("createpolicy.fractional.L2::evict_first.b64")
        self._k_rows = RingRows(f, lanes, self._filling, 0, policy)
        self._v_rows = RingRows(f, lanes, self._filling, self._step // 2, policy)
        self._ordered_k = OrderedRingRows(self._k_rows, own_row)

    def request_first(self, remaining: Reg) -> None:
        """Nothing is requested outside the loop."""
        self._unrequested = self._f.new("mov.b32", remaining)

    def begin_step(self, remaining: Reg) -> None:
        """Request the newest step, whose slot was read in the step before."""
        f, ring = self._f, self._ring
        again = f.label("request")
        f.place(again)
        self._request()
        ahead = f.new("sub.s32", remaining, self._unrequested)
        f.emit("bra.uni", again, guard=f.new("setp.lt.s32", ahead, ring.steps * ring.rows))

    def _request(self) -> None:
        """Request the next step's rows, as far as there are some: those of K as one group of copies, V's as another.

        Where there are none the groups are empty, so that their number tells which are there all the same.
        """
        f = self._f
        f.phase("request")
        none = f.new("setp.le.s32", self._unrequested, 0)
        requests: tuple[tuple[RowLoader, RowStore], ...] = ((self._k, self._ordered_k), (self._v, self._v_rows))
        for loader, store in requests:
            with f.skipped_if(none, f"requested_{loader.name}", uniform=True):
                loader.each_row(store, self._unrequested)
                loader.go_on()
            f.emit("cp.async.commit_group")
        f.emit("sub.s32", self._unrequested, self._unrequested, self._ring.rows)
        self._pass(self._filling)

    def _wait(self, newer: int) -> None:
        """Wait until all groups are there but the `newer` newest."""
        self._f.phase("wait")
        self._f.emit("cp.async.wait_group", newer)

    def _pass(self, slot: Reg) -> None:
        """Go on to the next slot, after the last to the first."""
        f = self._f
        if self._ring.steps == 2:
            # To the other of the two.
            f.emit("sub.u32", slot, self._both, slot)
        else:
            f.emit("add.u32", slot, slot, self._step)
            f.emit("sub.u32", slot, slot, self._ring.steps * self._step, guard=f.new("setp.eq.u32", slot, self._end))

    def keys(self) -> Iterator[list[Reg]]:
        """See Staging: the step's V and the steps after it may still be on their way."""
        self._wait(2 * self._ring.steps - 1)
        return self._k_rows.read(self._reading, self._k.rows)

    def keys_used(self, rest: Reg) -> None:
        """Nothing: the slot is filled again in the next step."""

    def values(self) -> Iterator[list[Reg]]:
        """See Staging: the steps after this one may still be on their way."""
        self._wait(2 * (self._ring.steps - 1))
        return self._v_rows.read(self._reading, self._v.rows)

    def end_step(self, rest: Reg) -> None:
        """Go on to the next slot."""
        self._pass(self._reading)

    def drained(self) -> None:
        """Wait until no lane of the warp reads its slots any more."""
        self._f.phase("drained")
        self._f.emit("bar.warp.sync", ALL_LANES)
