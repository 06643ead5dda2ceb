"""Peers: why one has no number, whose version it then names, and how they take turns with the arms.

Their own times need a GPU and the packages.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import pytest

from diffcheck.ab.bench import BASELINE, CANDIDATE, Replayed
from diffcheck.ab.beside import BLOCKS, time_peers
from diffcheck.ab.nvml import NoMonitor
from diffcheck.ab.pace import Pace
from diffcheck.ab.peers import PEERS, OpenPeer, base, open_peers
from diffcheck.ab.peers.base import Given, UnavailableError
from diffcheck.arms import reference_arm
from diffcheck.cases import Case
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.experiment.rows import experiment_rows
from diffcheck.parity.prepare import Prepared, prepare
from diffcheck.receipts.ab.host import HostFacts
from diffcheck.receipts.ab.rows import PeerRow
from diffcheck.timing.sets import timing_inputs
from tests.factory.ab import ab_content, small_experiment
from tests.factory.bench import FormulaBench, FormulaRow, Watch

CASE = Case("peers", 2, 1, 64, "f32", "random", "bound")


@pytest.fixture(name="prepared")
def fixture_prepared() -> Prepared:
    return prepare(CASE, "generic", reference_arm(), threads=1)


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_is_not_installed_says_so(name: str, prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    package = name.partition("-")[0]
    monkeypatch.setitem(sys.modules, package, None)
    (row,) = open_peers([name], prepared, 2)
    assert isinstance(row, PeerRow)
    assert (row.reason, row.version, row.median_us) == (f"{package} is not installed", None, None)


@pytest.mark.parametrize(("name", "version"), [("torch-flash", "11.2"), ("torch-cudnn", "11.2"), ("flashinfer", "7.5")])
def test_a_row_that_a_peer_cannot_take_names_the_peers_version(
    name: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_ends = SimpleNamespace(FLASH_ATTENTION=1, CUDNN_ATTENTION=2)
    torch = SimpleNamespace(__version__="11.2", cuda=SimpleNamespace(is_available=lambda: True))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.nn.attention", SimpleNamespace(SDPBackend=back_ends))
    monkeypatch.setitem(sys.modules, "flashinfer", SimpleNamespace(__version__="7.5"))
    with pytest.raises(UnavailableError, match="takes f16; the row is f32") as caught:
        PEERS[name].prepare(Given(timing_inputs(CASE), 2))
    assert caught.value.version == version


def test_peers_share_the_copies_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[object, int]] = []

    def make(inputs: object, sets: int) -> object:
        made.append((inputs, sets))
        return object()

    monkeypatch.setattr(base, "torch_inputs", make)
    given = Given(timing_inputs(CASE), 7)
    assert given.torch is given.torch
    assert made == [(given.inputs, 7)]


def test_a_peer_without_a_name_here_is_refused(prepared: Prepared) -> None:
    with pytest.raises(BadInputError, match="peer: 'xformers' is not allowed"):
        open_peers(["xformers"], prepared, 2)


SMALL = small_experiment()
PACE = Pace(0.0, lambda _: None, lambda: 0.0)


def formula_row(**changes: object) -> FormulaRow:
    facts = HostFacts.model_validate(ab_content("h200", SMALL)["host"])
    bench = FormulaBench(facts, **changes)  # type: ignore[arg-type]
    return bench.open_row(experiment_rows(SMALL.content)[0])


def test_peers_and_arms_are_replayed_there_and_back_and_begin_in_turn() -> None:
    seen: list[str] = []
    opened = formula_row(peers={"one": 1.5, "two": 1.2}, on_replay=seen.append)
    rows = time_peers(opened, ["one", "absent", "two"], 10.0, NoMonitor(), PACE)
    assert [(row.name, row.reason) for row in rows] == [("one", None), ("absent", "not installed"), ("two", None)]
    arms, peers = [BASELINE, CANDIDATE], ["one", "two"]
    # Arms are captured anew for every block, and each graph is replayed once untimed.
    first = [*arms, *arms, *peers, *peers[::-1], *arms[::-1]]
    second = [*arms, *peers, *arms, *arms[::-1], *peers[::-1]]
    assert seen == [*first, *second] * (BLOCKS // 2)


def test_a_peers_samples_are_those_beside_the_arms() -> None:
    opened = formula_row(peers={"one": 1.5})
    (row,) = time_peers(opened, ["one"], 10.0, NoMonitor(), PACE)
    assert len(row.beside) == BLOCKS
    assert row.samples_us == tuple(us for block in row.beside for us in block.peer_us)
    assert (row.version, row.max_rel_error) == ("1.0", 6e-4)
    for block in row.beside:
        assert block.peer_us[0] / block.baseline_us[0] == pytest.approx(1.5, rel=0.01)
        assert block.candidate_us[0] / block.baseline_us[0] == pytest.approx(0.99, rel=0.01)
    assert row.median_us is not None
    assert row.ratio == row.median_us / 10.0


def test_a_block_that_meets_a_slow_down_counts_for_no_peer() -> None:
    # Three readings a block: before, behind, and one of the rest.
    hot = Watch(throttle=lambda reading: ("hw_slowdown",) if reading in (2, 4) else ())
    (row,) = time_peers(formula_row(peers={"one": 1.5}), ["one"], 10.0, hot, PACE)
    assert (len(row.beside), row.reason) == (BLOCKS, None)
    assert hot.readings == 3 * (BLOCKS + 2)


def test_where_every_block_meets_a_slow_down_that_is_the_reason() -> None:
    hot = Watch(throttle=lambda _: ("hw_slowdown",))
    (row,) = time_peers(formula_row(peers={"one": 1.5}), ["one"], 10.0, hot, PACE)
    assert (row.reason, row.samples_us) == ("not measured: throttled: hw_slowdown", ())


class Drifting:
    """A row whose every replay takes 1 % of the first longer than the one before."""

    def __init__(self) -> None:
        self.count = itertools.count()

    def replay(self) -> float:
        return 10.0 * (1.0 + 0.01 * next(self.count))

    def fresh(self, names: Sequence[str]) -> Sequence[Replayed]:
        return [self.replay for _ in names]

    def open_peers(self, names: Sequence[str]) -> Sequence[OpenPeer]:
        return [OpenPeer(name, "1.0", self.replay, None) for name in names]


def test_a_drift_touches_arms_and_peers_alike() -> None:
    rows = time_peers(Drifting(), ["one", "two", "three"], 10.0, NoMonitor(), PACE)  # type: ignore[arg-type]
    for block in (block for row in rows for block in row.beside):
        for arm in (block.baseline_us, block.candidate_us):
            assert math.fsum(block.peer_us) == pytest.approx(math.fsum(arm), rel=1e-12)


def _failing(count: int, error: Exception) -> partial[float]:
    calls = itertools.count(1)

    def replay() -> float:
        if next(calls) >= count:
            raise error
        return 20.0

    return partial(replay)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_peer_that_fails_midway_has_a_reason_and_spoils_no_other(count: int) -> None:
    opened = formula_row(peers={"good": 1.5})
    (good,) = opened.open_peers(["good"])
    assert isinstance(good, OpenPeer)
    bad = OpenPeer("bad", "2.0", _failing(count, RuntimeError("CUDA error:\n an illegal address")), 1e-3)
    opened.open_peers = lambda names: [bad, good]  # type: ignore[method-assign]
    failed, timed = time_peers(opened, ["bad", "good"], 10.0, NoMonitor(), PACE)
    assert failed.reason == "failed: CUDA error: an illegal address"
    assert (failed.version, failed.samples_us, failed.beside, failed.max_rel_error) == ("2.0", (), (), None)
    assert len(timed.beside) == BLOCKS
    assert timed.samples_us == tuple(us for block in timed.beside for us in block.peer_us)


def test_a_device_that_fails_is_no_peers_failure() -> None:
    calls = itertools.count()

    def lost(name: str) -> None:
        if name == CANDIDATE and next(calls) > 3:
            raise DiffcheckError("the GPU failed")

    with pytest.raises(DiffcheckError, match="the GPU failed"):
        time_peers(formula_row(peers={"one": 1.5}, on_replay=lost), ["one"], 10.0, NoMonitor(), PACE)
