"""Every arm against the twin, the oracle and the other arms.

pytest tests/differential [--executor machine|gpu] [--suite quick|matrix|rungs] [-k CASE]
"""

from __future__ import annotations

from diffcheck.arms import get_arm
from diffcheck.parity.judge_case import CaseRun


def test_parity(run: CaseRun, case: str, arm: str, executor: str) -> None:
    assert executor
    own = run.reference.checks if get_arm(arm).role == "reference" else run.checks
    checks = [check for check in own if arm in {check.a, check.b}]
    assert checks, f"{case}: nothing was compared for {arm}"
    failed = [f"{case}: {c.name}: {c.a} against {c.b}: {c.reason}" for c in checks if not c.holds]
    assert not failed, "\n".join(failed)
