"""Decode attention on a CUDA device: objects that are made once and called for each token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from py_builder_kernel.arrays import View, view_of
from py_builder_kernel.checks import Geometry, whole_number
from py_builder_kernel.gpu import Gpu, Kernel
from py_builder_kernel.streams import stream_handle
from rust_kernel.plan import DeviceProfile, Plan, TileTable, make_plan, scratch_layout

# Row numbers within a split are signed 32-bit numbers in the kernels.
_MAX_CAPACITY = (1 << 31) - 1
_MAX_HEADS = 65_535


class _Sizes(TypedDict):
    """The checked shape, as planner and geometry take it."""

    num_q_heads: int
    num_kv_heads: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class _Call:
    """The checked arguments of one call."""

    q: View
    k: View
    v: View
    out: View
    kv_len: int
    stream: int

    def inputs(self) -> tuple[np.uint64, ...]:
        """The addresses that every partial or naive kernel starts with."""
        return tuple(np.uint64(array.address) for array in (self.q, self.k, self.v))

    def input_strides(self) -> tuple[np.uint64, ...]:
        """The strides of the inputs, in the order of the kernel interface."""
        strides = (self.q.strides[0], *self.k.strides[:2], *self.v.strides[:2])
        return tuple(np.uint64(stride) for stride in strides)


class _Decode(ABC):
    """What the decoders share: the device, the geometry, and the checks of a call."""

    def __init__(self, geometry: Geometry, gpu: Gpu) -> None:
        self._gpu = gpu
        self._geometry = geometry
        self._own_out: Any = gpu.empty((geometry.num_q_heads, geometry.head_dim), "float32")

    @property
    def kv_capacity(self) -> int:
        """The largest `kv_len` of a call."""
        return self._geometry.kv_capacity

    @property
    def device(self) -> int:
        """The index of the device that arrays must be on."""
        return self._geometry.device

    def __call__(self, q: Any, k: Any, v: Any, kv_len: int, *, out: Any = None, stream: Any = None) -> Any:
        """Queue the attention of one query position and return `out`.

        q: f32 `[num_q_heads, head_dim]`. k, v: `[rows >= kv_len, num_kv_heads, head_dim]` in the object's storage
        type; rows from `kv_len` on are not read. out: f32 `[num_q_heads, head_dim]`, may not overlap an input; None
        stands for the object's own CuPy array, which the next call overwrites. Each is a CuPy array or anything with
        `__cuda_array_interface__` or DLPack (torch), on the object's device, its last axis dense and its address and
        other strides multiples of 16 bytes; nothing is copied.

        stream: an int (a CUDA stream handle), an object with `__cuda_stream__`, or None: torch's current stream when
        q is a torch tensor, else CuPy's. The caller orders this stream after whatever wrote the inputs.

        The call allocates no device memory, loads nothing and waits for nothing, so it can be captured in a CUDA
        graph. `kv_len` is a host integer: a captured graph replays the length it was captured with. The scratch
        belongs to the object: calls that may overlap, on two streams, need two objects.

        Raises ArgumentTypeError (a TypeError) and ArgumentValueError (a ValueError), one line each.
        """
        geometry = self._geometry
        length = geometry.check_kv_len(kv_len)
        result = self._own_out if out is None else out
        views = [view_of(name, array, self._gpu) for name, array in (("q", q), ("k", k), ("v", v), ("out", result))]
        geometry.check_q(views[0])
        geometry.check_kv("k", views[1], length)
        geometry.check_kv("v", views[2], length)
        geometry.check_out(views[3])
        handle = stream_handle(stream, q, geometry.device, self._gpu.current_stream)
        with self._gpu.context:
            self._launch(_Call(views[0], views[1], views[2], views[3], length, handle))
        return result

    @abstractmethod
    def _launch(self, call: _Call) -> None:
        """Queue the kernels of a checked call."""


class SplitKDecode(_Decode):
    """Split-K decode attention for one query position (docs/contract.md): a partial kernel, then a reduce kernel.

    num_q_heads, num_kv_heads: 1 to 8 query heads a KV head. kv_capacity: the longest context of a call; it sizes the
    scratch, which is allocated here, once. head_dim: 256. storage: `f16` or `f32`, the type of K and V. policy: how
    the context is split (`rust_kernel.plan.policies()`), or `table`: as the tile table says. tiles: the table, None for
    the one that is built in. profile: the device profile to plan for, by name or object; None takes the one with the
    device's architecture and number of SMs, and `generic` for a device that has none. Profile and table decide the
    splits and so the bits. device: the CUDA device, None for CuPy's current one.

    Makes ready every kernel that a `kv_len` up to the capacity can ask for. Raises PlanError, ArgumentTypeError or
    ArgumentValueError for what is not supported, DeviceUnavailableError where there is no CuPy, driver or device.
    """

    def __init__(
        self,
        num_q_heads: int,
        num_kv_heads: int,
        kv_capacity: int,
        *,
        head_dim: int = 256,
        storage: str = "f16",
        policy: str = "table",
        profile: str | DeviceProfile | None = None,
        tiles: TileTable | None = None,
        device: int | None = None,
    ) -> None:
        sizes = _sizes(num_q_heads, num_kv_heads, kv_capacity, head_dim)
        # Refuses what has no kernel before a device is looked for.
        self._tiles = TileTable.built_in() if tiles is None else tiles
        self._plan_arguments: dict[str, Any] = {**sizes, "storage": storage, "policy": policy, "tiles": self._tiles}
        make_plan(kv_len=kv_capacity, **self._plan_arguments, profile="generic" if profile is None else profile)
        gpu = Gpu(device)
        super().__init__(Geometry(**sizes, kv_capacity=int(kv_capacity), storage=storage, device=gpu.index), gpu)
        self.profile: DeviceProfile | str = gpu.profile() if profile is None else profile
        layout = scratch_layout(kv_capacity=kv_capacity, **self._plan_arguments, profile=self.profile)
        self._scratch = gpu.empty((layout.total_bytes,), "uint8")
        base = int(self._scratch.data.ptr)
        offsets = (layout.part_m_offset, layout.part_s_offset, layout.part_acc_offset)
        self._parts = tuple(np.uint64(base + offset) for offset in offsets)
        self._kernels: Mapping[str, Kernel] = gpu.load(self._entries())

    def plan(self, kv_len: int) -> Plan:
        """The plan of a call with this `kv_len`: its splits, its tile and its key."""
        length = self._geometry.check_kv_len(kv_len)
        return make_plan(kv_len=length, **self._plan_arguments, profile=self.profile)

    def _entries(self) -> tuple[str, ...]:
        """The entries of every tile that a call can use: a call's tile changes only where a row of the table starts."""
        starts = {max(1, row["kv_len"][0]) for row in self._tiles.rows} | {1}
        plans = [self.plan(start) for start in sorted(starts) if start <= self.kv_capacity]
        return tuple(dict.fromkeys(entry for plan in plans for entry in (plan.partial_entry, plan.reduce_entry)))

    def _launch(self, call: _Call) -> None:
        plan = make_plan(kv_len=call.kv_len, **self._plan_arguments, profile=self.profile)
        counts = (np.uint32(plan.kv_len), np.uint32(plan.chunk), np.uint32(plan.n_splits))
        partial = (*call.inputs(), *self._parts, *counts, *call.input_strides())
        self._kernels[plan.partial_entry].launch(*plan.partial_launch, partial, call.stream)
        reduce = (*self._parts, np.uint64(call.out.address), counts[2], np.uint64(call.out.strides[0]))
        self._kernels[plan.reduce_entry].launch(*plan.reduce_launch, reduce, call.stream)


class NaiveDecode(_Decode):
    """The naive kernel behind the same interface: one block a query head, no splits, no scratch.

    Outside the bit contract; the parity reference and the "before" of every speed-up. Arguments and errors as
    `SplitKDecode`.
    """

    def __init__(
        self,
        num_q_heads: int,
        num_kv_heads: int,
        kv_capacity: int,
        *,
        head_dim: int = 256,
        storage: str = "f16",
        device: int | None = None,
    ) -> None:
        sizes = _sizes(num_q_heads, num_kv_heads, kv_capacity, head_dim)
        plan = make_plan(kv_len=kv_capacity, **sizes, storage=storage, policy="fixed:1", profile="generic")
        gpu = Gpu(device)
        super().__init__(Geometry(**sizes, kv_capacity=int(kv_capacity), storage=storage, device=gpu.index), gpu)
        self._shape = plan.naive_launch
        self._group_size = np.uint32(plan.group_size)
        self._kernel = gpu.load((plan.naive_entry,))[plan.naive_entry]

    def _launch(self, call: _Call) -> None:
        counts = (np.uint32(call.kv_len), self._group_size)
        out_stride = np.uint64(call.out.strides[0])
        args = (*call.inputs(), np.uint64(call.out.address), *counts, *call.input_strides(), out_stride)
        self._kernel.launch(*self._shape, args, call.stream)


def _sizes(num_q_heads: object, num_kv_heads: object, kv_capacity: object, head_dim: object) -> _Sizes:
    whole_number("kv_capacity", kv_capacity, 1, _MAX_CAPACITY)
    return {
        "num_q_heads": whole_number("num_q_heads", num_q_heads, 1, _MAX_HEADS),
        "num_kv_heads": whole_number("num_kv_heads", num_kv_heads, 1, _MAX_HEADS),
        "head_dim": whole_number("head_dim", head_dim, 1, _MAX_HEADS),
    }
