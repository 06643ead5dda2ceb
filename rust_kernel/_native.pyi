"""Stub of the native module; import `rust_kernel.plan`, `twin`, `ptx` or `decode` instead."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, Final, Literal, SupportsFloat, SupportsIndex, TypeAlias, TypedDict, final, type_check_only

import numpy as np
import numpy.typing as npt

__all__ = [
    "CONTRACT",
    "SOURCE_STAMP",
    "ContextError",
    "CudaError",
    "DeviceArray",
    "DeviceProfile",
    "DeviceUnavailableError",
    "EntryInfo",
    "LaunchStats",
    "Memory",
    "Plan",
    "PlanError",
    "PtxError",
    "PtxFault",
    "PtxModule",
    "PtxSetError",
    "ScratchLayout",
    "SplitKDecode",
    "Tile",
    "TileTable",
    "choose_target",
    "decode",
    "exp",
    "faults",
    "launch",
    "machine_version",
    "make_plan",
    "max_splits",
    "partial",
    "policies",
    "profiles",
    "ptx_targets",
    "ptx_text",
    "reduce",
    "scratch_layout",
    "simd_available",
    "source_sha256",
    "tile_table",
]

CONTRACT: Final[str]
"""Version of the numeric contract that plans belong to, such as `splitk/1`."""

SOURCE_STAMP: Final[str]
"""The commit that the module was built from by `make wheel` and the files that differed from it, tabs between; empty
in every other build."""

_Dim3: TypeAlias = tuple[int, int, int]
_Storage: TypeAlias = Literal["f32", "f16"]
_Path: TypeAlias = Literal["auto", "simd", "portable"]
_F32: TypeAlias = npt.NDArray[np.float32]
_KV: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float16]
_Grid: TypeAlias = (
    SupportsIndex
    | tuple[SupportsIndex]
    | tuple[SupportsIndex, SupportsIndex]
    | tuple[SupportsIndex, SupportsIndex, SupportsIndex]
)
_Value: TypeAlias = SupportsIndex | SupportsFloat | bytes

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
        """The split policy: the one that was asked for, or the table's."""
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
    def table(self) -> str:
        """Name of the tile table that it was planned by; see `TileTable.name`."""
    @property
    def key(self) -> str:
        """Everything but the inputs that decides the bits: contract, profile, policy, chunk and tile.

        Where another table than the contract's was asked, its name, too.
        """
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
    """One row of a tile table; every range holds both its ends."""

    arch: tuple[int, int]
    head_dim: int
    storage: _Storage
    group_size: tuple[int, int]
    kv_len: tuple[int, int]
    tile: Tile
    policy: str
    source: Literal["reasoned", "measured"]
    result: str | None
    ground: str

@final
class TileTable:
    """Which tile and which policy a call gets: exactly one row fits each supported call."""

    @staticmethod
    def built_in() -> TileTable:
        """The contract's table."""
    @staticmethod
    def load(path: str | PathLike[str]) -> TileTable:
        """Reads a file; raises PlanError for one that cannot be read, or as `parse`."""
    @staticmethod
    def parse(text: str) -> TileTable:
        """Reads a text of schema `splitk-tiles/1`.

        Raises PlanError, with one line that names the row, for a word or number that no row may have, and the rows, for
        two that fit one call and for a call that none fits.
        """
    @property
    def name(self) -> str:
        """How plans name it: `tuned-` and the start of its SHA-256; for the one that is built in, the contract."""
    @property
    def sha256(self) -> str:
        """SHA-256 of its text, in hex."""
    @property
    def text(self) -> str:
        """The text that it was read from."""
    @property
    def rows(self) -> list[_TileRow]:
        """Its rows, in the order of the text."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def make_plan(
    *,
    kv_len: SupportsIndex,
    num_q_heads: SupportsIndex,
    num_kv_heads: SupportsIndex,
    head_dim: SupportsIndex = 256,
    storage: str = "f16",
    policy: str = "table",
    profile: str | DeviceProfile = "h200",
    tiles: TileTable | None = None,
) -> Plan:
    """Plans a call (`docs/contract.md`, section 3). Raises PlanError when the call is not supported.

    policy: one of `policies()`, or `table` for that of the call's row in the tile table. tiles: the table; None stands
    for the one that is built in.
    """

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
    storage: str = "f16",
    policy: str = "table",
    profile: str | DeviceProfile = "h200",
    tiles: TileTable | None = None,
) -> ScratchLayout:
    """The scratch that every call with `kv_len <= kv_capacity` fits into. Arguments and errors as `make_plan`."""

def profiles() -> list[DeviceProfile]:
    """Every known device profile."""

def policies() -> list[str]:
    """How every split policy is written, `N` standing for its argument."""

def tile_table() -> list[_TileRow]:
    """The rows of `TileTable.built_in()`."""

# --- rust_kernel.twin -------------------------------------------------------------------------------------------------

def decode(
    q: _F32,
    k: _KV,
    v: _KV,
    plan: Plan,
    *,
    threads: SupportsIndex = 0,
    path: _Path = "auto",
    fault: str | None = None,
) -> _F32:
    """Attention of one position (`docs/contract.md`, sections 5 and 6): float32 `[num_q_heads, head_dim]`, dense."""

def partial(
    q: _F32,
    k: _KV,
    v: _KV,
    plan: Plan,
    *,
    threads: SupportsIndex = 0,
    path: _Path = "auto",
    fault: str | None = None,
) -> tuple[_F32, _F32, _F32]:
    """The partial kernel over its whole grid (section 5).

    Returns maxima and sums of weights, `[num_q_heads, n_splits]`, and weighted sums of values, not normalised,
    `[num_q_heads, n_splits, head_dim]`.
    """

def reduce(
    m: _F32,
    s: _F32,
    acc: _F32,
    *,
    threads: SupportsIndex = 0,
    path: _Path = "auto",
    fault: str | None = None,
) -> _F32:
    """The reduce kernel over its whole grid (section 6), from dense arrays as `partial` returns them."""

def exp(x: _F32, *, path: _Path = "auto") -> _F32:
    """The exponential of section 4 for each of a dense row of numbers, none of them above 0."""

def faults() -> list[str]:
    """Names of the faults that `decode`, `partial` and `reduce` can plant."""

def simd_available() -> bool:
    """Whether this processor runs the path `simd`."""

def source_sha256() -> str:
    """Hexadecimal SHA-256 of the Rust sources of twin and planner that this module was built from.

    Over the files of crates/cpu_twin and crates/splitk_plan (Cargo.toml and src) in the order of their paths, each as
    `path NUL length NUL content`.
    """

# --- rust_kernel.ptx --------------------------------------------------------------------------------------------------

class PtxError(ValueError):
    """A PTX text that the machine does not accept."""

    file: str
    """Name of the module."""
    line: int
    """Line, counted from 1; 0 where the text as a whole is meant."""
    text: str
    """The offending text, shortened."""
    message: str
    """What is wrong and what is allowed."""
    nearest: str | None
    """The supported form closest to the text, where one is close."""

class PtxFault(RuntimeError):  # noqa: N818 (a fault is the kernel's, not the caller's error)
    """A kernel did something that it may not do; of several faults, the one in the lowest block."""

    kind: str
    """What happened, such as `out-of-bounds` or `uninitialised-store`."""
    file: str
    """Name of the module."""
    kernel: str
    """Name of the entry."""
    line: int
    """Line in the module's text, counted from 1."""
    instruction: str
    """The instruction as the text writes it."""
    block: _Dim3
    """Index of the block."""
    warp: int
    """Warp within the block."""
    lane: int | None
    """Lowest offending lane of the warp, where one lane is to blame."""
    address: int | None
    """The offending address, for a memory fault."""
    message: str
    """What is wrong, with the nearest allocation for a memory fault."""

@final
class PtxModule:
    """A PTX module, parsed and checked; immutable, and any number of threads may launch its kernels."""

    def __new__(cls, text: str | bytes, name: str = "<ptx>", strict: bool = True) -> PtxModule:
        """Parses a text, at most 16 MiB; `name` is what errors call it. Raises PtxError.

        `strict` refuses forms without an exact definition: approximations, and f32 additions and multiplications that
        an assembler may fuse.
        """
    @property
    def name(self) -> str:
        """Name, as given."""
    @property
    def version(self) -> tuple[int, int]:
        """PTX ISA version, such as `(8, 5)`."""
    @property
    def target(self) -> str:
        """Target architecture, such as `sm_90`."""
    @property
    def strict(self) -> bool:
        """Whether forms without an exact definition are refused."""
    @property
    def entries(self) -> list[EntryInfo]:
        """The kernels, in the order of the text."""

@final
class EntryInfo:
    """One kernel of a module."""

    @property
    def name(self) -> str:
        """Its name."""
    @property
    def line(self) -> int:
        """Line of its `.entry`."""
    @property
    def params(self) -> list[tuple[str, str, int]]:
        """Name, type (`u64`, `b8[16]`) and alignment in bytes of each parameter."""
    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory that it declares with a size."""
    @property
    def uses_dynamic_shared(self) -> bool:
        """Whether it uses shared memory whose size the launch says."""
    @property
    def local_bytes(self) -> int:
        """Bytes of local memory a thread."""
    @property
    def registers_32(self) -> int:
        """Registers of up to 32 bits that it declares."""
    @property
    def registers_64(self) -> int:
        """Registers of 64 bits."""
    @property
    def predicates(self) -> int:
        """Predicate registers."""
    @property
    def instructions(self) -> int:
        """Instructions in its text."""
    @property
    def required_threads(self) -> _Dim3 | None:
        """The only block it may be launched with (`.reqntid`)."""
    @property
    def max_threads(self) -> int | None:
        """Most threads of a block (`.maxntid`)."""

@final
class Memory:
    """Global memory: named allocations, far apart, in which each byte is known to be written or not."""

    def __new__(cls) -> Memory: ...
    def alloc(
        self,
        array: npt.NDArray[Any] | bytes,
        *,
        name: str,
        initialised: bool = True,
        writable: bool = True,
        scratch: bool = False,
    ) -> int:
        """Allocates, copies a C-contiguous array in, and returns the device address, a multiple of 256.

        `initialised=False` reports a kernel that uses a byte before it writes it, `writable=False` one that writes. A
        store of a value that no one wrote is reported too, but `scratch=True` leaves its bytes unwritten instead.
        """
    def alloc_uninit(self, nbytes: SupportsIndex, *, name: str, scratch: bool = False) -> int:
        """Allocates bytes that no one has written, at most 16 GiB; `read` gives 0xFF for them.

        `scratch` is as for `alloc`.
        """
    def read(
        self, address: SupportsIndex, dtype: npt.DTypeLike, shape: SupportsIndex | tuple[SupportsIndex, ...]
    ) -> npt.NDArray[Any]:
        """Copies an array out, written or not. Raises ValueError when no allocation holds the range."""
    def write(self, address: SupportsIndex, array: npt.NDArray[Any] | bytes) -> None:
        """Copies a C-contiguous array in; its bytes count as written."""
    def follow(self, *, writes: Iterable[SupportsIndex], reads: Iterable[SupportsIndex]) -> None:
        """Takes it that a kernel was launched, not run here, that writes and reads whole allocations, by address.

        A programmatic launch that comes next may overlap it until it waits. All launches before this call have ended.
        Raises ValueError for an address that is in no allocation.
        """
    def unwritten(self, address: SupportsIndex, nbytes: SupportsIndex) -> int:
        """How many of the bytes neither the host nor a kernel has written."""

@final
class LaunchStats:
    """What a launch did."""

    @property
    def blocks(self) -> int:
        """Blocks run."""
    @property
    def warps(self) -> int:
        """Warps run."""
    @property
    def instructions(self) -> int:
        """Instructions, one for each time a warp executed one."""
    @property
    def thread_instructions(self) -> int:
        """Instructions times active lanes."""
    @property
    def divergent_branches(self) -> int:
        """Branches at which the lanes of a warp parted."""
    @property
    def barriers(self) -> int:
        """Block barriers passed, one a warp."""
    @property
    def approximate(self) -> bool:
        """Some instruction has no exact definition, so a device may give other bits (never in strict mode)."""
    def __eq__(self, other: object, /) -> bool: ...

def launch(
    module: PtxModule,
    entry: str,
    memory: Memory,
    *,
    grid: _Grid,
    block: _Grid,
    args: Iterable[_Value | tuple[str, _Value]],
    dynamic_shared: SupportsIndex = 0,
    threads: SupportsIndex = 0,
    step_limit: SupportsIndex | None = None,
    path: Literal["auto", "portable"] = "auto",
    races: bool = True,
    schedule: SupportsIndex | None = None,
    programmatic: bool = False,
) -> LaunchStats:
    """Runs a kernel and waits for it. Raises PtxFault, or ValueError when the launch itself is wrong.

    An argument is a number or the bytes of its parameter, or a tuple of PTX type and value, which must agree with the
    parameter. `dynamic_shared` is bytes a block, `threads` host threads (0: one a core), `step_limit` the instructions
    that the warps of one block may execute together; `path` never changes a bit.

    `races` reports conflicting accesses that nothing orders as a fault of kind "race". A `schedule` is a number from
    which the order of blocks, warps and sides of branches follows, on one host thread (None: the machine's own order);
    what a kernel without races computes does not depend on it, unless it depends on the order of atomic operations.

    A `programmatic` launch may start before the launches before it over `memory` have ended (on a device, the attribute
    CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION): with `races`, an access before the thread's
    `griddepcontrol.wait` that conflicts with what they did is a fault of kind "race".
    """

def machine_version() -> str:
    """Version of the machine, with the first 8 digits of the digest of its sources (as `source_sha256` makes it)."""

# --- rust_kernel.decode -----------------------------------------------------------------------------------------------

class DeviceUnavailableError(RuntimeError):
    """There is no driver or no device, or none that the kernels run on."""

class ContextError(RuntimeError):
    """The calling thread has no CUDA context, or another one than the object's."""

class CudaError(RuntimeError):
    """The CUDA driver refused a call, or reports that earlier work failed."""

    call: str
    """The driver's function."""
    code: int
    """Its answer, a `CUresult`."""
    name: str
    """Name of the answer, such as `CUDA_ERROR_OUT_OF_MEMORY`."""

class PtxSetError(ValueError):
    """PTX files that do not belong to this library: another version, an altered file, a kernel missing."""

@final
class DeviceArray:
    """An f32 array in device memory, which an object owns; `cupy.asarray` and `torch.as_tensor` read it in place."""

    @property
    def shape(self) -> tuple[int, int]:
        """Query heads and head dimension."""
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The array, version 3 of the protocol, with no stream to wait for."""

@final
class SplitKDecode:
    """Split-K decode attention for one query position (docs/contract.md), from the Rust kernels: partial, then reduce.

    The interface of `py_builder_kernel.SplitKDecode`. num_q_heads, num_kv_heads: 1 to 8 query heads a KV head.
    kv_capacity: the longest context of a call; it sizes the scratch, which is allocated here, once. head_dim: 256.
    storage: `f16` or `f32`, the type of K and V. policy: how the context is split (`rust_kernel.plan.policies()`), or
    `table`: as the tile table says. tiles: the table; None stands for the one that is built in.
    profile: the device profile to plan for, by name or object; None takes the one with the device's architecture and
    number of multiprocessors, and `generic` for a device that has none. The profile decides the splits and so the bits.
    One of another architecture may ask for a tile that is not among the kernels for this device: a PtxSetError.

    device: None lives in the thread's current CUDA context; the index of a device in the current context, where that is
    one of this device, and else in the device's primary context (the one that CuPy and torch use). ptx_dir: a folder
    with PTX and manifest, as `diffcheck oxide build` writes it, in place of the PTX in the library.

    The PTX is that of the device's architecture; where there is none, that of the nearest older one runs, and a
    RuntimeWarning says so. Every kernel that a `kv_len` up to the capacity can ask for is assembled and loaded here.

    Raises PlanError, TypeError or ValueError for what is not supported, PtxSetError for a `ptx_dir` that does not
    belong to this library and for a kernel that the PTX has not, DeviceUnavailableError without driver or device and
    for a device older than all PTX, ContextError where no context is current and no device is named, and CudaError for
    what the driver refuses.
    """

    def __new__(
        cls,
        num_q_heads: SupportsIndex,
        num_kv_heads: SupportsIndex,
        kv_capacity: SupportsIndex,
        *,
        head_dim: SupportsIndex = 256,
        storage: str = "f16",
        policy: str = "table",
        profile: str | DeviceProfile | None = None,
        tiles: TileTable | None = None,
        device: SupportsIndex | None = None,
        ptx_dir: str | PathLike[str] | None = None,
    ) -> SplitKDecode: ...
    def __call__(self, q: Any, k: Any, v: Any, kv_len: SupportsIndex, *, out: Any = None, stream: Any = None) -> Any:
        """Queues the attention of one query position and returns `out`.

        q: f32 `[num_q_heads, head_dim]`. k, v: `[rows >= kv_len, num_kv_heads, head_dim]` in the object's storage type;
        rows from `kv_len` on are not read. out: f32 `[num_q_heads, head_dim]`, may not overlap an input; None stands
        for the object's own DeviceArray, which the next call overwrites. Each is anything with
        `__cuda_array_interface__` or DLPack (CuPy, torch), on the object's device, its last axis dense and its address
        and other strides multiples of 16 bytes; nothing is copied.

        stream: an int (a CUDA stream handle), an object with `__cuda_stream__`, or None: torch's current stream when q
        is a torch tensor, else CuPy's, which is the legacy default stream where CuPy is not in use. The caller orders
        this stream after whatever wrote the inputs; streams that arrays name are not waited for.

        The call allocates no device memory, loads nothing and waits for nothing, so it can be captured in a CUDA graph.
        `kv_len` is a host integer: a captured graph replays the length it was captured with. The scratch belongs to the
        object: calls that may overlap, on two streams, need two objects, and graphs are replayed only while the object
        that they captured lives.

        Raises TypeError (no array of device memory, a wrong dtype, not a whole number), ValueError (shape, strides,
        alignment, device, a read-only `out`, a stream of another context), ContextError where the object's context is
        not current on the calling thread, and CudaError: one line each, and nothing of the call was queued.
        """
    def plan(self, kv_len: SupportsIndex) -> Plan:
        """The plan of a call with this `kv_len`: its splits, its tile and its key."""
    @property
    def kv_capacity(self) -> int:
        """The largest `kv_len` of a call."""
    @property
    def device(self) -> int:
        """The index of the device that arrays must be on."""
    @property
    def profile(self) -> DeviceProfile:
        """The device profile that calls are planned for."""
    @property
    def target(self) -> str:
        """The architecture of the PTX that runs, such as `sm_90`."""

def ptx_targets() -> list[str]:
    """Architectures that there is PTX for, such as `sm_90`, oldest first."""

def ptx_text(target: str) -> str:
    """The PTX of an architecture, as `SplitKDecode` loads it. Raises ValueError when there is none."""

def choose_target(arch: SupportsIndex) -> str:
    """The architecture whose PTX a device of compute capability `arch` / 10 runs: its own, or the nearest older one.

    Raises DeviceUnavailableError for a device older than all.
    """
