"""Hosts side by side, one column each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diffcheck.receipts.ab.rows import Control
from diffcheck.review.gather import HostReview
from diffcheck.review.numbers import NONE, interval, rate, ratio_text, size
from diffcheck.review.rows import geometric_mean, views, worst
from diffcheck.review.tables.base import Cell, Table, table, yes


def hosts(reviews: Sequence[HostReview]) -> Table:
    """Return what each host is, what it measured and how its receipt was judged."""
    rows: list[list[Cell | str]] = [[name, *(ask(one) for one in reviews)] for name, ask in _ASKED]
    return table(("", *(one.title for one in reviews)), rows)


def _role(one: HostReview) -> Cell:
    return Cell(one.judged.role, "" if one.judged.role == "required" else "dim")


def _fresh(one: HostReview) -> Cell:
    stale = [subject.name for subject in one.subjects if not subject.fresh]
    if one.judged.fresh:
        return Cell("fresh", "good")
    return Cell(f"stale: {len(stale)} of {len(one.subjects)} hashes" if stale else "does not count", "warn")


def _worst(one: HostReview) -> Cell:
    row = worst(views(one.receipt))
    return Cell(NONE) if row is None or row.ratio is None else Cell(f"{row.family}, {row.kv_len:,} keys")


def _worst_ratio(one: HostReview) -> Cell:
    row = worst(views(one.receipt))
    if row is None or row.ratio is None:
        return Cell(NONE)
    return Cell(f"{ratio_text(row.ratio.estimate)} ({interval(row.ratio)})")


def _parity(one: HostReview) -> Cell:
    checks = [check.holds for row in one.receipt.rows for check in row.parity]
    return yes(all(checks), f"{len(checks)} checks hold", f"{checks.count(False)} of {len(checks)} checks fail")


def _fastest(one: HostReview) -> Cell:
    rates = [row.rate(row.timing.candidate_us) for row in views(one.receipt) if row.timing]
    known = [value for value in rates if value is not None]
    return Cell(f"{rate(max(known))} GB/s" if known else NONE)


def _peak(one: HostReview) -> Cell:
    peak = one.receipt.host.peak_memory_bytes_per_second
    return Cell("unknown", "dim") if peak is None else Cell(f"{rate(peak)} GB/s")


def _controls(wanted: Callable[[Control], bool], one: HostReview) -> Cell:
    found = [control for control in one.receipt.controls if wanted(control)]
    if not found:
        return Cell("not run", "warn")
    passed = sum(control.passed for control in found)
    return yes(passed == len(found), f"{passed} of {len(found)} passed", f"{passed} of {len(found)} passed")


def _users(one: HostReview) -> Cell:
    both = (one.receipt.gpu_users.before, one.receipt.gpu_users.after)
    if any(users is None for users in both):
        return Cell("unknown", "warn")
    live = sum(user.kind == "compute" and user.state == "live" for users in both if users for user in users)
    return yes(not live, "nobody", f"{live} live compute", "warn")


def _tree(one: HostReview) -> Cell:
    source = one.receipt.tool.source
    if source.commit is None:
        return Cell("unknown", "warn")
    return Cell(source.commit[:12] + (" (dirty)" if source.dirty else ""), "warn" if source.dirty else "", code=True)


def _dropped(one: HostReview) -> Cell:
    timed = [row.timing for row in one.receipt.rows if row.timing]
    dropped = sum(timing.dropped_blocks for timing in timed)
    return Cell(f"{dropped} of {sum(len(timing.blocks) for timing in timed):,}", "warn" if dropped else "")


_ASKED: tuple[tuple[str, Callable[[HostReview], Cell]], ...] = (
    ("role", _role),
    ("device", lambda one: Cell(one.receipt.host.device)),
    ("architecture, SMs", lambda one: Cell(f"{one.receipt.host.arch}, {one.receipt.host.sms}")),
    ("host processor", lambda one: Cell(one.receipt.host.machine)),
    ("memory", lambda one: Cell(size(one.receipt.host.memory_bytes))),
    ("L2", lambda one: Cell(size(one.receipt.host.l2_bytes))),
    ("memory's peak", _peak),
    ("driver", lambda one: Cell(one.receipt.host.driver or "unknown")),
    ("receipt", lambda one: yes(one.receipt.status == "complete", "complete", one.receipt.status, "warn")),
    ("hashes", _fresh),
    ("times", lambda one: yes(one.judged.trusted, "trusted", "not trusted", "warn")),
    ("rows judged", lambda one: Cell(f"{one.judged.rows} of {len(one.receipt.rows)}")),
    ("parity", _parity),
    ("worst row", _worst),
    ("its ratio", _worst_ratio),
    ("geometric mean of ratios", lambda one: Cell(ratio_text(geometric_mean(views(one.receipt))))),
    ("highest candidate rate", _fastest),
    ("A/A", lambda one: _controls(lambda control: control.kind == "a/a", one)),
    ("planted slow-downs", lambda one: _controls(lambda control: control.kind == "planted", one)),
    ("blocks dropped", _dropped),
    ("others on the GPU", _users),
    ("commit", _tree),
)
