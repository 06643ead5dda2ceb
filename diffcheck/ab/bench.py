"""What a row needs of the device: graphs of many calls, captured by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from diffcheck.ab.nvml import Monitor
from diffcheck.ab.peers import OpenPeer
from diffcheck.experiment.rows import ExperimentRow
from diffcheck.receipts.ab.host import HostFacts, PtxasFacts
from diffcheck.receipts.ab.rows import ArmRow, PeerRow
from diffcheck.receipts.metrics import Check

if TYPE_CHECKING:
    from rust_kernel.plan import TileTable

BASELINE, CANDIDATE, BASELINE_AGAIN, EMPTY = "baseline", "candidate", "baseline again", "empty"
"""Names of a row's graphs; `baseline again` is another graph of the same calls."""

Replayed = Callable[[], float]
"""Replays one graph once and returns microseconds a call."""

_PLANTED = "baseline and more: "


def planted(percent: float) -> str:
    """Return the name of the graph with the baseline's calls and `percent` % more work."""
    return f"{_PLANTED}{percent:g} %"


def is_planted(name: str) -> bool:
    """Return whether `name` is from `planted`."""
    return name.startswith(_PLANTED)


def planted_share(name: str) -> Fraction:
    """Return the part of its work by which the graph of that name has more; `name` is from `planted`."""
    return Fraction(name.removeprefix(_PLANTED).removesuffix(" %")) / 100


class RowBench(Protocol):
    """One row on the device, after parity."""

    parity: tuple[Check, ...]
    baseline: ArmRow
    candidate: ArmRow
    kv_bytes: int
    buffer_sets: int
    empty_launches: int
    """Empty kernels in one call of the graph `empty`."""

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        """Place the row's buffers anew, capture one graph for each name in this order, and replay each once untimed.

        Two graphs of the very same calls differ by half a percent where calls take a few microseconds, for as long as
        they live: by where their buffers lie, and by which was captured first. So a side's time is that of many graphs
        over many places, captured in the order in which they are replayed. What was returned before is void.
        """
        ...

    def read_floors(self) -> Sequence[tuple[str, str]]:
        """Return name and description of the graphs that only read the bytes of K and V."""
        ...

    def open_peers(self, names: Sequence[str]) -> Sequence[OpenPeer | PeerRow]:
        """Prepare other implementations for the same inputs; one that is not there is a row that gives a reason."""
        ...

    def close(self) -> None:
        """Free the row's memory."""
        ...


class Bench(Protocol):
    """The device."""

    target: str
    profile: str
    monitor: Monitor
    tiles: TileTable | None
    """The table that rows are planned by; None stands for the one that is built in."""

    def open_row(self, row: ExperimentRow) -> RowBench:
        """Prepare a row, run both arms and check them. Nothing is timed yet.

        Raises `DiffcheckError` when the device has no room or fails.
        """
        ...

    def host(self, host_id: str | None) -> HostFacts:
        """Return what a receipt says of the host."""
        ...

    def ptxas(self, arms: Sequence[str], entries: Sequence[str]) -> PtxasFacts | None:
        """Return what the assembler says of the kernels; None without one."""
        ...
