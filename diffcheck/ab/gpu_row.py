"""One row of an A/B on a CUDA device: both arms' graphs, the baseline's twice, and those that are slower on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from diffcheck.ab.bench import BASELINE, BASELINE_AGAIN, CANDIDATE, is_planted, planted_share
from diffcheck.ab.calls import divided_calls, own_calls
from diffcheck.ab.graph_row import GraphRow
from diffcheck.ab.peers import OpenPeer, open_peers
from diffcheck.executors.program import Program
from diffcheck.receipts.ab.rows import ArmRow, PeerRow
from diffcheck.receipts.cases import PlanFacts
from diffcheck.receipts.metrics import Check
from diffcheck.timing.graph import Captured, capture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from diffcheck.parity.prepare import Prepared

PLANTED_CALLS = 50
"""Of so many calls, each whole percentage that is planted in steps of 2 % is a whole number."""


@dataclass(frozen=True)
class Sided:
    """One arm's program with what a receipt says of it."""

    arm: str
    program: Program
    plan: PlanFacts
    ptx_sha256: str


@dataclass(frozen=True)
class GpuSettings:
    """What the device is like."""

    target: str
    l2_bytes: int


class GpuRow(GraphRow):
    """Graphs of a row. See `RowBench`."""

    empty_launches = 2

    def __init__(
        self,
        prepared: Prepared,
        sides: tuple[Sided, Sided],
        parity: tuple[Check, ...],
        settings: GpuSettings,
    ) -> None:
        first, second = (side.program for side in sides)
        # Nothing is timed of a row that fails parity.
        holds = all(check.holds for check in parity)
        programs = {BASELINE: first, BASELINE_AGAIN: first, CANDIDATE: second} if holds else {}
        super().__init__(prepared.case, programs, settings.target, settings.l2_bytes, parts=PLANTED_CALLS)
        self.parity = parity
        self.kv_bytes = prepared.case.kv_bytes
        self._prepared = prepared
        self.baseline = self._arm_row(BASELINE, sides[0])
        self.candidate = self._arm_row(CANDIDATE, sides[1])

    def open_peers(self, names: Sequence[str]) -> Sequence[OpenPeer | PeerRow]:
        """Prepare other implementations; see `RowBench`."""
        return open_peers(names, self._prepared, self.buffer_sets)

    def _calls_of(self, name: str, beside: Sequence[str]) -> int:
        """Return an arm's own number of calls, and beside a planted slow-down one of which its share is whole."""
        # All of one arm have as many: they are compared with each other.
        one = BASELINE if name == BASELINE_AGAIN or is_planted(name) else name
        if one not in self._us:
            return self.calls
        calls = own_calls(self._us[one], min(self._us.values()), self.calls, self.buffer_sets)
        shares = [planted_share(other) for other in beside if is_planted(other)]
        return divided_calls(calls, self.buffer_sets, shares) if shares else calls

    def _captured(self, name: str, calls: int) -> Captured:
        if not is_planted(name):
            return super()._captured(name, calls)
        # What is replayed has more calls than it is counted for: each counted call carries so much more work.
        more = capture(self._thing(BASELINE), calls + int(calls * planted_share(name)))
        return Captured(name, calls, more.graph)

    def _arm_row(self, name: str, side: Sided) -> ArmRow:
        return ArmRow(
            arm=side.arm,
            plan=side.plan,
            ptx_sha256=side.ptx_sha256,
            entries=tuple(step.entry for step in side.program.steps),
            calls=self._calls_of(name, ()),
        )
