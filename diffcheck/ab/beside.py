"""Other implementations, in turn with both arms.

Timed after the arms they would meet a warmer device, and one that streams for long reaches its power cap. So a block
replays the arms' graphs, placed and captured anew, and each peer's, there and back: a drift that is linear in time
touches all alike. Of two blocks one begins with the arms, the other with the peers.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from diffcheck.ab.bench import BASELINE, CANDIDATE, Replayed, RowBench
from diffcheck.ab.nvml import Monitor
from diffcheck.ab.pace import Pace
from diffcheck.ab.peers import OpenPeer, failure, without_number
from diffcheck.ab.sampler import why_dropped
from diffcheck.receipts.ab.rows import Beside, PeerRow

BLOCKS = 10


@dataclass
class _Turn:
    """A peer and what it took so far."""

    peer: OpenPeer
    blocks: list[Beside] = field(default_factory=list)
    failed: str = ""


class _PeerFailedError(Exception):
    def __init__(self, turn: _Turn, reason: str) -> None:
        super().__init__(reason)
        self.turn = turn


def time_peers(
    opened: RowBench, names: Sequence[str], baseline_us: float, monitor: Monitor, pace: Pace
) -> tuple[PeerRow, ...]:
    """Time the named peers on a row's inputs.

    One that is not installed, does not take the row or fails gives the reason in place of a number: no peer ever ends a
    run. A block that meets a hard reason for a lowered clock does not count; more than `BLOCKS` of them are such a
    reason, too. Raises what `RowBench.fresh` does.
    """
    found = [one if isinstance(one, PeerRow) else _Turn(one) for one in opened.open_peers(names)]
    turns = [one for one in found if isinstance(one, _Turn)]
    held_down = 0
    while going := [turn for turn in turns if not turn.failed and len(turn.blocks) < BLOCKS]:
        before = monitor.read()
        try:
            blocks = _block(opened, going, peers_first=len(going[0].blocks) % 2 == 1)
        except _PeerFailedError as error:
            error.turn.failed = str(error)
        else:
            dropped = why_dropped((before, monitor.read()))
            held_down += dropped is not None
            for turn, block in zip(going, blocks, strict=True):
                if dropped is None:
                    turn.blocks.append(block)
                elif held_down > BLOCKS:
                    turn.failed = f"not measured: {dropped}"
        pace.rest(monitor)
    return tuple(_row(one, baseline_us) if isinstance(one, _Turn) else one for one in found)


def _block(opened: RowBench, turns: Sequence[_Turn], *, peers_first: bool) -> list[Beside]:
    arms = opened.fresh([BASELINE, CANDIDATE])
    peers = [_guarded(turn) for turn in turns]
    order = [*peers, *arms] if peers_first else [*arms, *peers]
    there = [replay() for replay in order]
    back = [replay() for replay in reversed(order)][::-1]
    pairs = list(zip(there, back, strict=True))
    of_peers, of_arms = (pairs[:-2], pairs[-2:]) if peers_first else (pairs[2:], pairs[:2])
    return [Beside(baseline_us=of_arms[0], candidate_us=of_arms[1], peer_us=pair) for pair in of_peers]


def _guarded(turn: _Turn) -> Replayed:
    def replay() -> float:
        try:
            return turn.peer.replay()
        except Exception as error:  # a peer's own failures are of many kinds, and none of them is ours
            raise _PeerFailedError(turn, failure(error)) from error

    return replay


def _row(turn: _Turn, baseline_us: float) -> PeerRow:
    peer = turn.peer
    if turn.failed:
        return without_number(peer, peer.version, turn.failed)
    samples = tuple(us for block in turn.blocks for us in block.peer_us)
    median = statistics.median(samples)
    return PeerRow(
        name=peer.name,
        version=peer.version,
        samples_us=samples,
        beside=tuple(turn.blocks),
        median_us=median,
        ratio=median / baseline_us,
        max_rel_error=peer.max_rel_error,
        reason=None,
    )
