"""What is derived of one row of a receipt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diffcheck.cases import Case
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import PeerRow, Row, RowCase
from diffcheck.receipts.ab.samples import Comparison, Interval


@dataclass(frozen=True)
class RowView:
    """One row with its rates: bytes of K and V over the time of a call."""

    row: Row

    @property
    def family(self) -> str:
        """What rows have in common that differ in their length: generator, heads and storage."""
        return family_of(self.row.case)

    @property
    def kv_len(self) -> int:
        """Keys."""
        return self.row.case.kv_len

    @property
    def timing(self) -> Comparison | None:
        """Both arms' times; None where parity failed."""
        return self.row.timing

    @property
    def ratio(self) -> Interval | None:
        """Candidate over baseline."""
        return self.row.timing.ratio if self.row.timing else None

    def floor(self, name: str) -> float | None:
        """Return a floor's median in µs: `empty` or `read`; None where it was not measured."""
        return next((floor.median_us for floor in self.row.floors if floor.name == name), None)

    def rate(self, us: float | None) -> float | None:
        """Return bytes of K and V a second at a time in µs."""
        return None if us is None else self.row.kv_bytes / (us * 1e-6)

    def share(self, us: float | None) -> float | None:
        """Return the part of the read floor's rate that a time in µs reaches."""
        read = self.floor("read")
        return None if us is None or read is None else read / us

    def peer(self, name: str) -> PeerRow | None:
        """Return a peer's times; None where it is not named."""
        return next((peer for peer in self.row.peers if peer.name == name), None)


def family_of(case: RowCase | Case) -> str:
    """Return the name of a case's family; see `RowView.family`."""
    kind = "" if case.generator == "random" else f"{case.generator}, "
    return f"{kind}{case.num_q_heads}/{case.num_kv_heads} {case.storage}"


def views(receipt: AbReceipt) -> tuple[RowView, ...]:
    """Return the rows of a receipt, those of one family together, in the order of the experiment."""
    made = [RowView(row) for row in receipt.rows]
    order = list(dict.fromkeys(view.family for view in made))
    return tuple(sorted(made, key=lambda view: (order.index(view.family), view.kv_len)))


def families(rows: Sequence[RowView]) -> dict[str, list[RowView]]:
    """Return rows by family, shortest first."""
    found: dict[str, list[RowView]] = {}
    for row in rows:
        found.setdefault(row.family, []).append(row)
    return found


def worst(rows: Sequence[RowView]) -> RowView | None:
    """Return the row whose interval ends highest; None where nothing was timed."""
    timed = [(row.ratio.high, row) for row in rows if row.ratio]
    return max(timed, key=lambda one: one[0])[1] if timed else None


def geometric_mean(rows: Sequence[RowView]) -> float | None:
    """Return the geometric mean of the ratios; None where nothing was timed."""
    logs = [math.log(row.ratio.estimate) for row in rows if row.ratio]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None
