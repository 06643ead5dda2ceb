"""Peers: why one has no number, and whose version it then names. Their times need a GPU and the packages."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from diffcheck.ab.peers import PEERS, time_peers
from diffcheck.ab.peers.base import UnavailableError
from diffcheck.arms import reference_arm
from diffcheck.cases import Case
from diffcheck.errors import BadInputError
from diffcheck.parity.prepare import Prepared, prepare
from diffcheck.timing.sets import timing_inputs

CASE = Case("peers", 2, 1, 64, "f32", "random", "bound")


@pytest.fixture(name="prepared")
def fixture_prepared() -> Prepared:
    return prepare(CASE, "generic", reference_arm(), threads=1)


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_is_not_installed_says_so(name: str, prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    package = name.partition("-")[0]
    monkeypatch.setitem(sys.modules, package, None)
    (row,) = time_peers([name], prepared, 2, 1.0)
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
        PEERS[name].prepare(timing_inputs(CASE), 2)
    assert caught.value.version == version


def test_a_peer_without_a_name_here_is_refused(prepared: Prepared) -> None:
    with pytest.raises(BadInputError, match="peer: 'xformers' is not allowed"):
        time_peers(["xformers"], prepared, 2, 1.0)
