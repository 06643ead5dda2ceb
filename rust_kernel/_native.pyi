"""Stub of the native module; import `rust_kernel.plan`, `rust_kernel.twin` or `rust_kernel.ptx` instead."""

from typing import Final, Literal, SupportsIndex, TypeAlias, TypedDict, final, type_check_only

CONTRACT: Final[str]
"""Version of the numeric contract that plans belong to, such as `splitk/1`."""

_Dim3: TypeAlias = tuple[int, int, int]
_Storage: TypeAlias = Literal["f32", "f16"]

# --- rust_kernel.plan -------------------------------------------------------------------------------------------------

class PlanError(ValueError):
    """A call that cannot be planned; the text is one line made of the three attributes."""

    field: str
    """Name of the offending argument, or of the quantity that follows from the arguments."""
    value: str
    """Its value, as text."""
    allowed: str
    """What would have been accepted."""

@final
class DeviceProfile:
    """The constants of a named device that decide splits and tiles. Written down, never measured; see `profiles`."""

    @property
    def name(self) -> str:
        """Word that cases, receipts and the command line use."""
    @property
    def arch(self) -> int:
        """Compute capability times ten: 90 for `sm_90`."""
    @property
    def sms(self) -> int:
        """Streaming multiprocessors."""
    @property
    def blocks_per_sm(self) -> int:
        """Blocks of the partial kernel that are planned to be resident on one multiprocessor."""
    @property
    def title(self) -> str:
        """The device, in words."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Tile:
    """How a block walks its split; part of what decides the bits."""

    @property
    def warps(self) -> int:
        """Warps a block."""
    @property
    def rows(self) -> int:
        """Rows a warp step, a power of two."""
    @property
    def vec(self) -> int:
        """Consecutive elements that a lane holds: dimension `(i // vec)·32·vec + lane·vec + i % vec` is element `i`."""
    @property
    def name(self) -> str:
        """The tile in entry names, such as `w8r8`."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Plan:
    """The plan of one call, immutable. Made by `make_plan`."""

    @property
    def kv_len(self) -> int:
        """Keys of the call."""
    @property
    def num_q_heads(self) -> int:
        """Query heads."""
    @property
    def num_kv_heads(self) -> int:
        """KV heads."""
    @property
    def group_size(self) -> int:
        """Query heads a KV head, 1 to 8."""
    @property
    def head_dim(self) -> int:
        """Elements of a head."""
    @property
    def storage(self) -> _Storage:
        """Storage of K and V."""
    @property
    def policy(self) -> str:
        """The split policy, as it was asked for."""
    @property
    def profile(self) -> DeviceProfile:
        """The device that was planned for."""
    @property
    def arch(self) -> int:
        """Architecture that the tile was looked up for: the profile's."""
    @property
    def s_target(self) -> int:
        """Splits that the policy aimed for; for `chunk:N`, the splits there are."""
    @property
    def chunk(self) -> int:
        """Keys a split; the last may be shorter."""
    @property
    def n_splits(self) -> int:
        """Splits of the call, 1 to 65,535."""
    @property
    def tile(self) -> Tile:
        """How a block walks its split."""
    @property
    def key(self) -> str:
        """Everything but the inputs that decides the bits: contract, profile, policy, chunk and tile."""
    @property
    def partial_entry(self) -> str:
        """Name of the partial kernel (`docs/contract.md`, section 8)."""
    @property
    def reduce_entry(self) -> str:
        """Name of the reduce kernel."""
    @property
    def naive_entry(self) -> str:
        """Name of the naive kernel."""
    @property
    def partial_launch(self) -> tuple[_Dim3, _Dim3]:
        """Grid and block of the partial kernel."""
    @property
    def reduce_launch(self) -> tuple[_Dim3, _Dim3]:
        """Grid and block of the reduce kernel."""
    @property
    def naive_launch(self) -> tuple[_Dim3, _Dim3]:
        """Grid and block of the naive kernel."""
    def split_range(self, split: SupportsIndex) -> tuple[int, int]:
        """First key of a split, and the first after it. Raises PlanError when there is no such split."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class ScratchLayout:
    """Where `part_m`, `part_s` and `part_acc` lie in one scratch buffer; offsets and sizes are in bytes."""

    @property
    def max_splits(self) -> int:
        """Most splits that a call within the capacity has."""
    @property
    def part_m_offset(self) -> int: ...
    @property
    def part_m_bytes(self) -> int: ...
    @property
    def part_s_offset(self) -> int: ...
    @property
    def part_s_bytes(self) -> int: ...
    @property
    def part_acc_offset(self) -> int: ...
    @property
    def part_acc_bytes(self) -> int: ...
    @property
    def total_bytes(self) -> int:
        """Bytes of the buffer."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@type_check_only
class _TileRow(TypedDict):
    """One row of the tile table; every range holds both its ends."""

    arch: tuple[int, int]
    head_dim: int
    storage: _Storage
    group_size: tuple[int, int]
    kv_len: tuple[int, int]
    tile: Tile

def make_plan(
    *,
    kv_len: SupportsIndex,
    num_q_heads: SupportsIndex,
    num_kv_heads: SupportsIndex,
    head_dim: SupportsIndex = 256,
    storage: str = "f16",
    policy: str = "one-wave",
    profile: str | DeviceProfile = "h200",
) -> Plan:
    """Plans a call (`docs/contract.md`, section 3). Raises PlanError when the call is not supported."""

def max_splits(
    *,
    kv_capacity: SupportsIndex,
    num_kv_heads: SupportsIndex,
    policy: str = "one-wave",
    profile: str | DeviceProfile = "h200",
) -> int:
    """Most splits that any call with `1 <= kv_len <= kv_capacity` has. Raises PlanError as `make_plan`."""

def scratch_layout(
    *,
    kv_capacity: SupportsIndex,
    num_q_heads: SupportsIndex,
    num_kv_heads: SupportsIndex,
    head_dim: SupportsIndex = 256,
    policy: str = "one-wave",
    profile: str | DeviceProfile = "h200",
) -> ScratchLayout:
    """The scratch that every call with `kv_len <= kv_capacity` fits into. Raises PlanError as `make_plan`."""

def profiles() -> list[DeviceProfile]:
    """Every known device profile."""

def policies() -> list[str]:
    """How every split policy is written, `N` standing for its argument."""

def tile_table() -> list[_TileRow]:
    """The tile table of the contract: exactly one row fits each supported call."""
