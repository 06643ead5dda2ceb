"""A device whose times are a formula: it tries the A/B's order of work, not its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from diffcheck.ab.bench import BASELINE, BASELINE_AGAIN, CANDIDATE, EMPTY, Replayed, planted_share
from diffcheck.ab.nvml import Monitor
from diffcheck.ab.peers import OpenPeer
from diffcheck.experiment.rows import ExperimentRow
from diffcheck.receipts.ab.host import ForeignProcess, HostFacts, PtxasFacts
from diffcheck.receipts.ab.rows import ArmRow, PeerRow
from diffcheck.receipts.ab.samples import Reading
from diffcheck.receipts.metrics import Check
from rust_kernel.plan import TileTable
from tests.factory.ab import parity, row_content


@dataclass
class Watch:
    """A monitor: every reading has the clocks given and the reasons that `throttle` gives for its number."""

    throttle: Callable[[int], tuple[str, ...] | None] = lambda _: ()
    users: tuple[ForeignProcess, ...] | None = ()
    readings: int = 0

    def read(self) -> Reading:
        self.readings += 1
        reasons = self.throttle(self.readings)
        return Reading(sm_mhz=1980, memory_mhz=3201, temperature_c=40.0, power_w=400.0, throttle=reasons)

    def processes(self) -> tuple[ForeignProcess, ...] | None:
        return self.users


@dataclass
class FormulaRow:
    """A row: its baseline streams at 3 GB/ms, its candidate takes `ratio` times that, each replay with 0.1 % noise."""

    row: ExperimentRow
    relation: str
    ratio: float
    holds: bool
    on_replay: Callable[[str], None]
    deaf: bool
    peers: Mapping[str, float] = field(default_factory=dict)
    buffer_sets: int = 4
    empty_launches: int = 2
    closed: bool = False
    noises: dict[str, np.random.Generator] = field(default_factory=dict)

    def __post_init__(self) -> None:
        content = row_content("rtx4090", self.row, self.relation)
        self.kv_bytes = self.row.baseline_case.kv_bytes
        self.baseline = ArmRow.model_validate(content["baseline"])
        self.candidate = ArmRow.model_validate(content["candidate"])
        checks = parity(self.row, self.relation)
        if not self.holds:
            checks[0]["holds"] = False
        self.parity = tuple(Check.model_validate(check) for check in checks)

    def _replay(self, name: str) -> float:
        self.on_replay(name)
        base = 2.0 + self.kv_bytes / 3.0e6
        noise = float(np.exp(self._noise(name).normal(0.0, 0.001)))
        if name in {BASELINE, BASELINE_AGAIN}:
            return base * noise
        if name == CANDIDATE:
            return base * self.ratio * noise
        if name == EMPTY:
            return 2.0 * noise
        if name in self.peers:
            return base * self.peers[name] * noise
        if name.startswith("read"):
            return 0.9 * base * noise
        return base * (1.0 if self.deaf else float(1 + planted_share(name))) * noise

    def _noise(self, name: str) -> np.random.Generator:
        """A graph's own noise in its row: neither how often another is replayed nor a part before this one moves it."""
        if name not in self.noises:
            self.noises[name] = np.random.default_rng([*self.row.name.encode(), *name.encode()])
        return self.noises[name]

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        replays = [partial(self._replay, name) for name in names]
        for replay in replays:
            replay()
        return replays

    def read_floors(self) -> Sequence[tuple[str, str]]:
        return (("read, 1", "one block"), ("read, 2", "two blocks"))

    def open_peers(self, names: Sequence[str]) -> Sequence[OpenPeer | PeerRow]:
        def opened(name: str) -> OpenPeer | PeerRow:
            if name in self.peers:
                return OpenPeer(name, "1.0", partial(self._replay, name), 6e-4)
            return PeerRow(name=name, version=None, samples_us=(), median_us=None, ratio=None, reason="not installed")

        return [opened(name) for name in names]

    def close(self) -> None:
        self.closed = True


@dataclass
class FormulaBench:
    """The device; `fails` names rows that do not relate, `on_replay` may raise what a driver raises.

    A deaf one takes no longer for planted work.
    """

    facts: HostFacts
    relation: str = "bitwise"
    ratio: float = 0.99
    fails: frozenset[str] = frozenset()
    on_replay: Callable[[str], None] = lambda _: None
    monitor: Monitor = field(default_factory=Watch)
    target: str = "sm_90"
    profile: str = "h200"
    tiles: TileTable | None = None
    deaf: bool = False
    peers: Mapping[str, float] = field(default_factory=dict)
    """Times of the baseline's that each of these peers takes; the others are not installed."""
    opened: list[FormulaRow] = field(default_factory=list)
    pci_address: str = ""

    def open_row(self, row: ExperimentRow) -> FormulaRow:
        holds = row.name not in self.fails
        made = FormulaRow(row, self.relation, self.ratio, holds, self.on_replay, self.deaf, self.peers)
        self.opened.append(made)
        return made

    def host(self, host_id: str | None) -> HostFacts:
        return self.facts.model_copy(update={"id": host_id})

    def ptxas(self, arms: Sequence[str], entries: Sequence[str]) -> PtxasFacts | None:
        del arms, entries
        return None
