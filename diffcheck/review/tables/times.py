"""Times of the rows: the ratio, the floors, the peers."""

from __future__ import annotations

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
        *("row", "keys", "baseline µs", "candidate µs", "candidate / baseline", "interval"),
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
    """Return the peers' times over the baseline's, or why there is none; None where no peer was asked for."""
    found = [(row, peer) for row in rows for peer in row.row.peers]
    if not found:
        return None
    made = [_peer_row(row, peer) for row, peer in found if peer.median_us is not None]
    without: dict[tuple[str, str, str], int] = {}
    for _, peer in found:
        if peer.reason is not None:
            key = (peer.name, peer.version or "", peer.reason)
            without[key] = without.get(key, 0) + 1
    for (name, version, reason), rows_without in without.items():
        made.append((name, version or NONE, f"{rows_without} rows", *(NONE,) * 4, Cell(reason, "dim")))
    columns = ("peer", "version", "row", "keys", "µs", "over baseline", "largest error, relative", "note")
    return table(columns, made, columns[3:7])


def _peer_row(row: RowView, peer: PeerRow) -> Sequence[Cell | str]:
    return (
        *(peer.name, peer.version or NONE, row.family, length(row.kv_len)),
        *(microseconds(peer.median_us), ratio_text(peer.ratio), small(peer.max_rel_error), ""),
    )


def _if(doubt: bool) -> Tone:
    return "warn" if doubt else ""
