"""Whether checks are each there once, and looked at as many words as the case has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from diffcheck.repeated import first_repeated

if TYPE_CHECKING:
    from diffcheck.receipts.cases import CallFacts, PlanFacts
    from diffcheck.receipts.metrics import Check


def wrong_check(checks: Iterable[Check], call: CallFacts, plan: PlanFacts, stage: str = "decode") -> str:
    """Return, in one line, the first check that is there twice, or holds over fewer words than there are; or nothing.

    A check that failed says so by itself, and may have nothing to count.
    """
    checks = tuple(checks)
    twice = first_repeated((check.name, check.a, check.b) for check in checks)
    if twice is not None:
        return f"check {twice[0]} of {twice[1]} against {twice[2]} is there twice"
    for check in checks:
        words = _words(check.name, call, plan, stage)
        # Of the memory every word is counted, guards too, and how many those are a receipt does not say.
        enough = check.compared >= words if check.name == "memory" else check.compared == words
        if check.holds and check.name != "executes" and not enough:
            return f"check {check.name} of {check.a} against {check.b} compared {check.compared} words of {words}"
    return ""


def _words(name: str, call: CallFacts, plan: PlanFacts, stage: str) -> int:
    """Return how many f32 words a check is about: the output's, or those that the splits left."""
    out = call.num_q_heads * call.head_dim
    if name != "scratch":
        return out
    # A maximum, a sum and an accumulator of each head and split; the first result of a chain lies there too.
    left = call.num_q_heads * plan.n_splits * (2 + call.head_dim)
    return left + out if stage == "chain" else left
