"""Other implementations of the decode, timed beside the arms where they are installed. For information only.

To add one, write a class with `Peer`'s members and add it to `PEERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from diffcheck.ab.peers.base import Given, Peer, UnavailableError
from diffcheck.ab.peers.flashinfer import FlashInfer
from diffcheck.ab.peers.torch_sdpa import TorchSdpa
from diffcheck.errors import choose
from diffcheck.receipts.ab.rows import PeerRow

if TYPE_CHECKING:
    from diffcheck.parity.prepare import Prepared

PEERS: Mapping[str, Peer] = {
    peer.name: peer for peer in (TorchSdpa("torch-flash"), TorchSdpa("torch-cudnn"), FlashInfer())
}


@dataclass(frozen=True)
class OpenPeer:
    """A peer with a row's inputs on the device, and its graph captured."""

    name: str
    version: str
    replay: Callable[[], float]
    """Replays the graph once and returns microseconds a call. May raise whatever the peer raises."""
    max_rel_error: float | None
    """See `PeerRow`."""


def open_peers(names: Sequence[str], prepared: Prepared, sets: int) -> tuple[OpenPeer | PeerRow, ...]:
    """Prepare the named peers for a row's inputs, with `sets` copies of K and V, which they share.

    One that is not installed, does not take the row or fails is a row that gives the reason. Raises `BadInputError` for
    a name that is no peer's.
    """
    given = Given(prepared.decode_inputs, sets)
    return tuple(_open(PEERS[choose("peer", name, PEERS)], prepared, given) for name in names)


def failure(error: Exception) -> str:
    """Return in one line how a peer failed."""
    return f"failed: {' '.join(str(error).split())[:200] or type(error).__name__}"


def _open(peer: Peer, prepared: Prepared, given: Given) -> OpenPeer | PeerRow:
    try:
        ready = peer.prepare(given)
        error = _max_rel_error(ready.result(), prepared)
        ready.replay_us()
    except UnavailableError as unavailable:
        return without_number(peer, unavailable.version, str(unavailable))
    except Exception as other:  # a peer's own failures are of many kinds, and none of them is ours
        return without_number(peer, None, failure(other))
    return OpenPeer(peer.name, ready.version, ready.replay_us, error)


def without_number(peer: Peer | OpenPeer, version: str | None, reason: str) -> PeerRow:
    """Return the row of a peer that gives a reason in place of a number."""
    return PeerRow(
        name=peer.name, version=version, samples_us=(), median_us=None, ratio=None, max_rel_error=None, reason=reason
    )


def _max_rel_error(out: np.ndarray, prepared: Prepared) -> float | None:
    if prepared.oracle is None:
        return None
    right = prepared.oracle.out
    error = np.abs(out.astype(np.float64) - right).max(axis=1) / np.abs(right).max(axis=1)
    worst = float(error.max())
    return worst if np.isfinite(worst) else None
