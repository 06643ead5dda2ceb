"""Reasons, and what would supply what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from diffcheck.decide.model import Decision, Verdict
from diffcheck.decide.reasons import Code, Reason
from diffcheck.review.gather import Review
from diffcheck.review.tables.base import TONES, Cell, Table, table

MEANINGS: dict[Verdict, str] = {
    "PROMOTE": "The candidate may replace the baseline.",
    "HOLD": "Evidence is missing, stale, damaged or doubtful: nothing is decided yet.",
    "REJECT": "A fresh receipt of a required host shows that the candidate is wrong or too slow.",
    "INCONCLUSIVE": "An interval lies on both sides of the limit: more samples are needed.",
}
_FEW = 3
_SUPPLIED_BY_A_RUN = frozenset({Code.RECEIPT_MISSING, Code.RECEIPT_STALE, Code.ROW_MISSING, Code.EXPERIMENT_DIFFERS})


@dataclass(frozen=True)
class ReasonGroup:
    """Reasons of one code and host."""

    first: Reason
    others: tuple[Reason, ...]

    @property
    def tone(self) -> str:
        """How it stands to a promotion."""
        return TONES[self.first.severity]

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """All of them."""
        return (self.first, *self.others)


@dataclass(frozen=True)
class Remedy:
    """What somebody can do, what it supplies, and the file to commit then."""

    text: str
    is_command: bool
    supplies: tuple[str, ...]
    commit: str | None


def reason_groups(decision: Decision) -> tuple[ReasonGroup, ...]:
    """Return the reasons, heaviest first; more than `_FEW` of one code and host together."""
    made: list[ReasonGroup] = []
    for _, group in groupby(decision.reasons, key=lambda reason: (reason.severity, reason.code, reason.host)):
        first, *others = group
        if len(others) < _FEW:
            made += [ReasonGroup(reason, ()) for reason in (first, *others)]
        else:
            made.append(ReasonGroup(first, tuple(others)))
    return tuple(made)


def remedies(decision: Decision) -> tuple[Remedy, ...]:
    """Return what would supply what is missing, each act once, heaviest reason first."""
    by_text: dict[str, list[Reason]] = {}
    for reason in decision.reasons:
        if reason.remedy:
            by_text.setdefault(reason.remedy, []).append(reason)
    made: list[Remedy] = []
    for text, reasons in by_text.items():
        runs = any(reason.code in _SUPPLIED_BY_A_RUN for reason in reasons) and " --host " in text
        host = text.rpartition(" --host ")[2]
        supplies = tuple(dict.fromkeys(_supplied(reason) for reason in reasons))
        commit = f"evidence/{decision.experiment}/{host}.json" if runs and host != "ID" else None
        made.append(Remedy(text, text.startswith("diffcheck "), supplies, commit))
    return tuple(made)


def architectures(review: Review) -> Table:
    """Return one row for each required architecture: who could supply it, and what is there."""
    rows: list[tuple[Cell | str, ...]] = []
    for arch in review.decision.required_architectures:
        hosts = [host.id for host in review.hosts.hosts if host.arch == arch]
        there = [one for one in review.decision.receipts if one.arch == arch and one.role == "required"]
        fresh = [one for one in there if one.fresh]
        counted = sum(one.rows for one in there)
        if counted:
            state = Cell(f"{counted} rows judged", "good")
        elif fresh:
            state = Cell("a fresh receipt, its times not judged", "warn")
        else:
            state = Cell("only stale receipts" if there else "no receipt", "warn")
        rows.append((arch, ", ".join(hosts) or "none in hosts.toml", state))
    return table(("architecture", "hosts that could supply it", "state"), rows)


def files(decision: Decision) -> Table:
    """Return one row for each file that was looked at."""
    rows = [
        (
            one.file,
            one.host or "–",
            one.arch or "–",
            one.device or "–",
            Cell(one.role, "" if one.role == "required" else "dim"),
            Cell("fresh", "good") if one.fresh else Cell("not fresh", "warn"),
            Cell("trusted", "good") if one.trusted else Cell("no", "warn"),
            str(one.rows),
        )
        for one in decision.receipts
    ]
    columns = ("file", "host", "arch", "device", "role", "subjects", "times", "rows judged")
    return table(columns, rows, ("rows judged",))


def _supplied(reason: Reason) -> str:
    host = f"{reason.host}: " if reason.host else ""
    return f"{host}{reason.code.value}" + (f" ({reason.numbers['arch']})" if "arch" in reason.numbers else "")
