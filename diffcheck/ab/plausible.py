"""Whether what stands beside the times of a row's arms fits them: its floors, its peers, its controls, the seconds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from itertools import chain

from diffcheck.ab.beside import BLOCKS
from diffcheck.ab.peers.llama_cpp import NAME as LLAMA_CPP
from diffcheck.ab.rows import FLOOR_PLACES
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Control, PeerRow, Row
from diffcheck.receipts.ab.samples import Comparison, Side

_SIDES: tuple[Side, Side] = ("baseline", "candidate")
# What reads the same bytes at other moments of one row's few seconds differs by 1 % at the most, on an H200. No other
# device was asked, and the clocks of some wander more.
FAR = 0.1
# From half to twice of what was planted: the work that is added is calls, and a graph's start is no call.
_FOUND = (0.5, 2.0)


def misfits(receipt: AbReceipt) -> Iterator[tuple[str, str]]:
    """Yield what does not fit the times of its row: the row's name, and in one line what is wrong."""
    timed = {row.case.name: (row, row.timing) for row in receipt.rows if row.timing is not None}
    for name, (row, timing) in timed.items():
        for message in chain(_of_floors(row, timing), _of_peers(row, timing)):
            yield name, message
    for control in receipt.controls:
        for message in _of_control(control, timed[control.case][1]):
            yield control.case, message
    message = _too_quick(receipt)
    if message:
        yield receipt.rows[0].case.name, message


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


def _of_control(control: Control, of_row: Comparison) -> Iterator[str]:
    """Yield that a control took another time than its row's baseline, which it ran, or found another slow-down."""
    us, own = control.timing.baseline_us, of_row.baseline_us
    if not abs(us / own - 1.0) <= FAR:
        yield f"a control takes {us:.6g} µs, and its row's baseline {own:.6g}"
    ratio, planted = control.timing.ratio, control.planted_percent
    least, most = (1.0 + part * planted / 100.0 for part in _FOUND)
    if planted and not (ratio.low <= most and ratio.high >= least):
        yield f"{planted:g} % were planted, and {ratio.low:.4f} to {ratio.high:.4f} found"


def _too_quick(receipt: AbReceipt) -> str:
    """Return that the replays of the rows' blocks alone last longer than all parts; empty where they do not.

    A part that took up what an interrupted run had left says how long it took itself: nothing is known of the rest.
    """
    if any(part.resumed for part in receipt.parts):
        return ""
    stated, replayed = (
        math.fsum(part.seconds for part in receipt.parts),
        math.fsum(map(_replayed_seconds, receipt.rows)),
    )
    if stated >= replayed:
        return ""
    return f"all parts together took {stated:.6g} s, and the replays of the rows' blocks alone {replayed:.6g}"


def _replayed_seconds(row: Row) -> float:
    calls = {"baseline": row.baseline.calls, "candidate": row.candidate.calls}
    blocks = row.timing.blocks if row.timing else ()
    return math.fsum(replay.us * calls[replay.side] for block in blocks for replay in block.replays) * 1e-6
