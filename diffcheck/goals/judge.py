"""One goal at one row of a receipt. Every comparison is written so that NaN misses the goal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from diffcheck.goals.interval import can_compare, peer_interval
from diffcheck.goals.model import ErrorGoal, FloorGoal, Goal, PeerGoal, RatioGoal, TimeGoal
from diffcheck.goals.report import SideFound, Unit
from diffcheck.receipts.ab.rows import PeerRow, Row
from diffcheck.receipts.ab.samples import Comparison, Side

_PEER_RULE = "faster, or as fast at the floor"
_SIDES: tuple[Side, Side] = ("baseline", "candidate")


@dataclass(frozen=True)
class Held:
    """What a goal found at a row. Without sides it was not measured, and `reason` says why."""

    unit: Unit
    rule: str
    against: str | None = None
    reference: float | None = None
    allowed: float | None = None
    sides: tuple[SideFound, ...] = ()
    reason: str | None = None


Judged: TypeAlias = Iterator[Held]


def judge(goal: Goal, row: Row | None) -> tuple[Held, ...]:
    """Hold a goal against a row; `row` None: no receipt has it."""
    if row is None:
        return tuple(_unmeasured(goal, "no receipt has it"))
    if row.timing is None:
        return tuple(_unmeasured(goal, "fails parity"))
    return tuple(_judge(goal, row, row.timing))


def read_floor_us(row: Row) -> float:
    """Return the time of reading the bytes of K and V once in µs: the best grid that was measured."""
    return min(floor.median_us for floor in row.floors if floor.name == "read")


def _judge(goal: Goal, row: Row, timing: Comparison) -> Judged:
    match goal:
        case TimeGoal():
            return _time(goal, row, timing)
        case FloorGoal():
            return _floor(goal, row, timing)
        case PeerGoal():
            return _peers(goal, row, timing)
        case ErrorGoal():
            return _error(goal, row)
        case RatioGoal():
            return _ratio(goal, row, timing)


def _unmeasured(goal: Goal, why: str) -> Judged:
    match goal:
        case TimeGoal():
            yield Held("µs", "at most so many µs", reason=why)
        case FloorGoal():
            yield Held("µs", _floor_rule(goal), "read floor", reason=why)
        case PeerGoal():
            for name in goal.peers:
                yield Held("ratio", _PEER_RULE, name, reason=why)
        case ErrorGoal():
            yield Held("relative error", _error_rule(goal), goal.peer, reason=why)
        case RatioGoal():
            yield Held("ratio", _ratio_rule(goal), reason=why)


def _time(goal: TimeGoal, row: Row, timing: Comparison) -> Judged:
    allowed = dict(goal.at_most_us)[row.case.kv_len]
    found = _medians(row, timing, allowed, lambda us: us / allowed)
    yield Held("µs", f"at most {allowed:g} µs", None, None, allowed, found)


def _floor(goal: FloorGoal, row: Row, timing: Comparison) -> Judged:
    floor = read_floor_us(row)
    allowed = floor / goal.share + goal.plus_us
    found = _medians(row, timing, allowed, lambda us: floor / us)
    yield Held("µs", _floor_rule(goal), "read floor", floor, allowed, found)


def _peers(goal: PeerGoal, row: Row, timing: Comparison) -> Judged:
    known = {peer.name: peer for peer in row.peers}
    for name in (*goal.peers, *goal.peers_where_measured):
        peer = known.get(name)
        if peer is not None and peer.median_us is not None:
            if can_compare(timing, peer):
                yield _peer(goal, row, timing, peer, peer.median_us)
            else:
                yield Held("ratio", _PEER_RULE, name, reason="one block, and one time of the peer")
        elif name in goal.peers:
            yield Held("ratio", _PEER_RULE, name, reason=_why(peer, "time"))


def _peer(goal: PeerGoal, row: Row, timing: Comparison, peer: PeerRow, peer_us: float) -> Held:
    # A peer that itself is at the floor cannot be beaten by much.
    beatable = peer_us > read_floor_us(row) / goal.share
    found: list[SideFound] = []
    for side in _SIDES:
        ratio = peer_interval(timing, side, peer)
        met = ratio.high < 1.0 if beatable else ratio.low <= 1.0
        arm = _arm(row, side)
        found.append(SideFound(arm=arm, measured=ratio.estimate, low=ratio.low, high=ratio.high, met=met))
    rule = "faster, with the whole interval" if beatable else "not slower beyond the interval"
    return Held("ratio", rule, peer.name, peer_us, 1.0, tuple(found))


def _error(goal: ErrorGoal, row: Row) -> Judged:
    rule = _error_rule(goal)
    peer = next((peer for peer in row.peers if peer.name == goal.peer), None)
    if peer is None or peer.max_rel_error is None:
        yield Held("relative error", rule, goal.peer, reason=_why(peer, "error"))
        return
    allowed = peer.max_rel_error / goal.times
    found: list[SideFound] = []
    for side in _SIDES:
        error = _error_of(row, side)
        if error is None:
            reason = f"the receipt has no error of {_arm(row, side)} against the oracle"
            yield Held("relative error", rule, goal.peer, peer.max_rel_error, allowed, reason=reason)
            return
        share = peer.max_rel_error / error if error else None
        found.append(SideFound(arm=_arm(row, side), measured=error, share=share, met=error <= allowed))
    yield Held("relative error", rule, goal.peer, peer.max_rel_error, allowed, tuple(found))


def _ratio(goal: RatioGoal, row: Row, timing: Comparison) -> Judged:
    ratio = timing.ratio
    side = SideFound(
        arm=row.candidate.arm,
        measured=ratio.estimate,
        low=ratio.low,
        high=ratio.high,
        met=ratio.high <= goal.at_most,
    )
    yield Held("ratio", _ratio_rule(goal), row.baseline.arm, timing.baseline_us, goal.at_most, (side,))


def _floor_rule(goal: FloorGoal) -> str:
    part = f"floor / {goal.share:g}" if goal.share < 1 else "floor"
    return f"at most {part}{f' + {goal.plus_us:g} µs' if goal.plus_us else ''}"


def _error_rule(goal: ErrorGoal) -> str:
    return f"at most its error / {goal.times:g}"


def _ratio_rule(goal: RatioGoal) -> str:
    return f"interval ends at {goal.at_most:g} or below"


def _why(peer: PeerRow | None, what: str) -> str:
    said = None if peer is None else peer.reason
    return said or f"the receipt has no {what} of it"


def _medians(row: Row, timing: Comparison, allowed: float, share: Callable[[float], float]) -> tuple[SideFound, ...]:
    """Return both arms' medians in µs, held against what is allowed."""
    medians = ((row.baseline.arm, timing.baseline_us), (row.candidate.arm, timing.candidate_us))
    return tuple(SideFound(arm=arm, measured=us, share=share(us), met=us <= allowed) for arm, us in medians)


def _arm(row: Row, side: Side) -> str:
    return (row.baseline if side == "baseline" else row.candidate).arm


def _error_of(row: Row, side: Side) -> float | None:
    """Return an arm's largest difference from the oracle over its row's largest output: as a peer's is measured."""
    arm = _arm(row, side)
    checks = [check for check in row.parity if (check.a, check.name, check.b) == (arm, "oracle", "oracle")]
    errors = [check.whole.max_rel for check in checks if check.whole is not None and check.whole.max_rel is not None]
    return max(errors, key=lambda error: (math.isnan(error), error), default=None)
