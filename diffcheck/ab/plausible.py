"""Whether what stands beside the times of a row's arms fits them: its floors, its peers, its controls, the seconds."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import chain

from diffcheck.ab.beside import BLOCKS
from diffcheck.ab.peers.llama_cpp import NAME as LLAMA_CPP
from diffcheck.ab.rows import FLOOR_PLACES
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import PeerRow, Row
from diffcheck.receipts.ab.samples import Comparison, Side

_SIDES: tuple[Side, Side] = ("baseline", "candidate")
# What reads the same bytes at other moments of one row's few seconds differs by 1 % at the most, on an H200.
FAR = 0.05


def misfits(receipt: AbReceipt) -> Iterator[tuple[str, str]]:
    """Yield what does not fit the times of its row: the row's name, and in one line what is wrong."""
    for row in receipt.rows:
        if row.timing is not None:
            for message in chain(_of_floors(row, row.timing), _of_peers(row, row.timing)):
                yield row.case.name, message


def _of_floors(row: Row, timing: Comparison) -> Iterator[str]:
    most = 2 * FLOOR_PLACES
    counts = {floor.name: len(floor.samples_us) for floor in row.floors}
    for name, count in counts.items():
        # Two at a place, there and back; a place that a slow-down struck does not count.
        if count % 2 or count > most:
            yield f"the {name} floor has {count} samples, and a run takes two at each of up to {FLOOR_PLACES} places"
    if len(set(counts.values())) > 1:
        said = " and ".join(f"{count} of the {name} floor" for name, count in counts.items())
        yield f"there are {said}, and a run takes them in turn"
    fastest = min(timing.baseline_us, timing.candidate_us)
    for floor in row.floors:
        if floor.name == "read" and not floor.median_us <= fastest * (1.0 + FAR):
            yield (
                f"the read floor takes {floor.median_us:.6g} µs, and the faster arm {fastest:.6g}: "
                f"no arm reads the same bytes so much faster"
            )


def _of_peers(row: Row, timing: Comparison) -> Iterator[str]:
    timed = [peer for peer in row.peers if peer.samples_us]
    for peer in timed:
        # What is imported was timed elsewhere, and is one number.
        count, taken = len(peer.beside), 0 if peer.name == LLAMA_CPP else BLOCKS
        if count != taken:
            yield f"{peer.name} was timed in {count} blocks beside the arms, and a run takes {taken}"
        if peer.name == LLAMA_CPP and len(peer.samples_us) > 1:
            yield f"{peer.name} has {len(peer.samples_us)} samples, and its own benchmark tells one time"
    beside = [peer for peer in timed if peer.beside]
    for peer in beside[:1]:
        yield from _moved(row, timing, peer)
    for peer in beside[1:]:
        if arms_beside(peer) != arms_beside(beside[0]):
            yield f"{peer.name} and {beside[0].name} are not beside the same replays of the arms"


def _moved(row: Row, timing: Comparison, peer: PeerRow) -> Iterator[str]:
    """Yield which arm took another time beside its peers than in its row's own blocks."""
    for side in _SIDES:
        arm, own = (getattr(row, side).arm, getattr(timing, f"{side}_us"))
        us = statistics.median([us for block in peer.beside for us in getattr(block, f"{side}_us")])
        if not abs(us / own - 1.0) <= FAR:
            yield f"beside its peers {arm} takes {us:.6g} µs, and {own:.6g} in the row's own blocks"


def arms_beside(peer: PeerRow) -> tuple[float, ...]:
    """Return the times of both arms between which a peer was timed, in order."""
    return tuple(us for block in peer.beside for us in (*block.baseline_us, *block.candidate_us))
