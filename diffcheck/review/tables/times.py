"""Times of the rows: the ratio, the floors, the peers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from diffcheck.decide.reasons import Code
from diffcheck.decide.speed import judge_interval
from diffcheck.experiment.policy import Policy
from diffcheck.receipts.ab.rows import PeerRow
from diffcheck.review.numbers import NONE, interval, length, microseconds, percent, rate, ratio_text, small
from diffcheck.review.rows import RowView
from diffcheck.review.tables.base import Cell, Table, Tone, table

_JUDGED: dict[Code, tuple[str, Tone]] = {
    Code.SPEED_HOLDS: ("within", "good"),
    Code.SPEED_UNSURE: ("straddles", "warn"),
    Code.TOO_SLOW: ("past", "bad"),
}


def ratios(rows: Sequence[RowView], policy: Policy) -> Table:
    """Return the ratio of each row and where its interval lies against the policy's limit."""
    columns = (
        *("row", "keys", "baseline µs", "candidate µs", "ratio", "interval"),
        *("limit", "blocks", "dropped", "ended by"),
    )
    return table(columns, [_ratio_row(row, policy) for row in rows], (*columns[1:6], "blocks", "dropped"))


def _ratio_row(row: RowView, policy: Policy) -> Sequence[Cell | str]:
    name, keys = row.family, length(row.kv_len)
    if row.timing is None:
        return (name, keys, *(NONE,) * 4, Cell("not timed: fails parity", "bad"), *(NONE,) * 3)
    timing = row.timing
    text, tone = _JUDGED[judge_interval(timing.ratio, policy.speed)]
    return (
        *(name, keys, microseconds(timing.baseline_us), microseconds(timing.candidate_us)),
        *(ratio_text(timing.ratio.estimate), interval(timing.ratio)),
        *(Cell(text, tone), str(len(timing.used())), Cell(str(timing.dropped_blocks), _if(timing.dropped_blocks > 0))),
        Cell(timing.stop, _if(timing.stop != "narrow")),
    )


def rates(rows: Sequence[RowView]) -> Table:
    """Return each row's time beside its floors, and the bandwidth that it reaches."""
    columns = (
        *("row", "keys", "launch floor µs", "read floor µs", "read GB/s"),
        *("baseline GB/s", "of read", "candidate GB/s", "of read "),
    )
    return table(columns, [_rate_row(row) for row in rows], columns[1:])


def _rate_row(row: RowView) -> Sequence[Cell | str]:
    read = row.floor("read")
    base = row.timing.baseline_us if row.timing else None
    candidate = row.timing.candidate_us if row.timing else None
    above = " (above peak)" if row.row.above_peak else ""
    return (
        *(row.family, length(row.kv_len), microseconds(row.floor("empty")), microseconds(read)),
        rate(row.rate(read)),
        *(rate(row.rate(base)), percent(row.share(base))),
        *(Cell(rate(row.rate(candidate)) + above, "bad" if above else ""), percent(row.share(candidate))),
    )


def peer_names(rows: Sequence[RowView]) -> tuple[str, ...]:
    """Return the peers that a receipt names, in its order."""
    return tuple(dict.fromkeys(peer.name for row in rows for peer in row.row.peers))


def peers(rows: Sequence[RowView]) -> Table | None:
    """Return the peers' times, and in brackets over the baseline's; None where none was timed."""
    names = peer_names(rows)
    made: list[Sequence[Cell | str]] = []
    for row in rows:
        found = [row.peer(name) for name in names]
        if row.timing is not None and any(peer and peer.median_us is not None for peer in found):
            base = microseconds(row.timing.baseline_us)
            made.append((row.family, length(row.kv_len), base, *(_peer_time(peer) for peer in found)))
    columns = ("row", "keys", "baseline µs", *(f"{name} µs" for name in names))
    return table(columns, made, columns[1:]) if made else None


def peer_versions(rows: Sequence[RowView]) -> Table | None:
    """Return what is known of each peer, and why rows have no time of it; None where no peer was asked for."""
    made = [_peer_version(name, rows) for name in peer_names(rows)]
    columns = ("peer", "version", "rows timed", "largest error, relative", "rows without a time")
    return table(columns, made, columns[2:4]) if made else None


def _peer_time(peer: PeerRow | None) -> str:
    if peer is None or peer.ratio is None:
        return NONE
    return f"{microseconds(peer.median_us)} (×{peer.ratio:.2f})"


def _peer_version(name: str, rows: Sequence[RowView]) -> Sequence[Cell | str]:
    found = [peer for peer in (row.peer(name) for row in rows) if peer is not None]
    versions = ", ".join(dict.fromkeys(peer.version for peer in found if peer.version)) or NONE
    errors = [peer.max_rel_error for peer in found if peer.max_rel_error is not None]
    reasons = Counter(peer.reason for peer in found if peer.reason)
    why = "; ".join(f"{count}: {reason}" for reason, count in reasons.items())
    timed = sum(peer.median_us is not None for peer in found)
    return (name, versions, str(timed), small(max(errors)) if errors else NONE, Cell(why or "none", "dim"))


def _if(doubt: bool) -> Tone:
    return "warn" if doubt else ""
