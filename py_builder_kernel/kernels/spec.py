"""What names a kernel: its kind and the numbers it is built for."""

from __future__ import annotations

from dataclasses import dataclass

from py_builder_kernel.kernels.lane_map import LaneMap
from py_builder_kernel.kernels.storage import STORAGES, Storage

HEAD_DIMS = (256,)
MAX_GROUP = 8


def _check_head_dim(head_dim: int) -> None:
    if head_dim not in HEAD_DIMS:
        raise ValueError(f"head_dim is {head_dim}; allowed: {', '.join(map(str, HEAD_DIMS))}")


def _storage(name: str) -> Storage:
    if name not in STORAGES:
        raise ValueError(f"storage is {name!r}; allowed: {', '.join(STORAGES)}")
    return STORAGES[name]


@dataclass(frozen=True, slots=True)
class PartialSpec:
    """A partial kernel: storage type of K and V, query heads a KV head, and the tile (warps a block, rows a step)."""

    storage: str
    group: int
    head_dim: int
    warps: int
    rows: int

    def __post_init__(self) -> None:
        _check_head_dim(self.head_dim)
        _storage(self.storage)
        if not 1 <= self.group <= MAX_GROUP:
            raise ValueError(f"group is {self.group}; allowed: 1 to {MAX_GROUP}")
        if not 1 <= self.warps <= 32:
            raise ValueError(f"warps is {self.warps}; allowed: 1 to 32")
        if self.rows not in (1, 2, 4, 8, 16):
            raise ValueError(f"rows is {self.rows}; allowed: 1, 2, 4, 8 or 16")

    @property
    def entry(self) -> str:
        """The entry's name."""
        return f"splitk_partial_{self.storage}_g{self.group}_d{self.head_dim}_w{self.warps}r{self.rows}"

    @property
    def lane_map(self) -> LaneMap:
        """Which elements of a row each lane holds."""
        return LaneMap(self.head_dim, _storage(self.storage))

    @property
    def acc_bytes(self) -> int:
        """Bytes of a warp's accumulators."""
        return 4 * self.group * self.head_dim

    @property
    def sums_bytes(self) -> int:
        """Bytes of a warp's maxima and sums."""
        return 2 * 4 * self.group


@dataclass(frozen=True, slots=True)
class ReduceSpec:
    """A reduce kernel: it depends on head_dim alone."""

    head_dim: int

    def __post_init__(self) -> None:
        _check_head_dim(self.head_dim)

    @property
    def entry(self) -> str:
        """The entry's name."""
        return f"splitk_reduce_d{self.head_dim}"


@dataclass(frozen=True, slots=True)
class NaiveSpec:
    """A naive kernel: storage type of K and V, and head_dim."""

    storage: str
    head_dim: int

    def __post_init__(self) -> None:
        _check_head_dim(self.head_dim)
        _storage(self.storage)

    @property
    def entry(self) -> str:
        """The entry's name."""
        return f"naive_decode_{self.storage}_d{self.head_dim}"

    @property
    def lane_map(self) -> LaneMap:
        """Which elements of a row each lane holds."""
        return LaneMap(self.head_dim, _storage(self.storage))
