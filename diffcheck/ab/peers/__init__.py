"""Other implementations of the decode, timed beside the arms where they are installed. For information only.

To add one, write a class with `Peer`'s members and add it to `PEERS`.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from diffcheck.ab.peers.base import Peer, UnavailableError
from diffcheck.ab.peers.flashinfer import FlashInfer
from diffcheck.ab.peers.torch_sdpa import TorchSdpa
from diffcheck.errors import choose
from diffcheck.receipts.ab.rows import PeerRow

if TYPE_CHECKING:
    from diffcheck.parity.prepare import Prepared

PEERS: Mapping[str, Peer] = {
    peer.name: peer for peer in (TorchSdpa("torch-flash"), TorchSdpa("torch-cudnn"), FlashInfer())
}
REPLAYS = 9


def time_peers(names: Sequence[str], prepared: Prepared, sets: int, baseline_us: float) -> tuple[PeerRow, ...]:
    """Time the named peers on a row's inputs, each over `sets` copies of K and V.

    One that is not installed, does not support the row or fails gives the reason in place of a number: no peer ever
    ends a run.
    """
    return tuple(_time_one(PEERS[choose("peer", name, PEERS)], prepared, sets, baseline_us) for name in names)


def _time_one(peer: Peer, prepared: Prepared, sets: int, baseline_us: float) -> PeerRow:
    try:
        ready = peer.prepare(prepared.decode_inputs, sets)
        out = ready.result()
        ready.replay_us()
        samples = tuple(ready.replay_us() for _ in range(REPLAYS))
    except UnavailableError as error:
        return _without_number(peer, error.version, str(error))
    except Exception as error:  # a peer's own failures are of many kinds, and none of them is ours
        return _without_number(peer, None, f"failed: {' '.join(str(error).split())[:200] or type(error).__name__}")
    median = statistics.median(samples)
    return PeerRow(
        name=peer.name,
        version=ready.version,
        samples_us=samples,
        median_us=median,
        ratio=median / baseline_us,
        max_rel_error=_max_rel_error(out, prepared),
        reason=None,
    )


def _without_number(peer: Peer, version: str | None, reason: str) -> PeerRow:
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
