"""Whether the candidate is fast enough: the whole interval of every row against the policy's limit."""

from __future__ import annotations

from collections.abc import Sequence

from diffcheck.decide.reasons import Code, Reason, Subject
from diffcheck.experiment.policy import Policy, Speed
from diffcheck.receipts.ab.rows import Row
from diffcheck.receipts.ab.samples import Interval


def judge_speed(rows: Sequence[Row], subject: Subject, policy: Policy) -> list[Reason]:
    """Return a reason for each row whose interval is not within the limit, or one that all are."""
    timed = [(row.case.name, row.timing.ratio) for row in rows if row.timing]
    reasons = [
        subject.reason(code, _message(ratio, policy.speed), row=name, numbers=_numbers(ratio, policy.speed))
        for name, ratio in timed
        for code in [judge_interval(ratio, policy.speed)]
        if code is not Code.SPEED_HOLDS
    ]
    if timed and not reasons:
        name, worst = max(timed, key=lambda one: one[1].high)
        message = f"{len(timed)} rows; the worst is {name}: {_message(worst, policy.speed)}"
        numbers = {"rows": len(timed), **_numbers(worst, policy.speed)}
        reasons = [subject.reason(Code.SPEED_HOLDS, message, numbers=numbers)]
    return reasons


def judge_interval(ratio: Interval, speed: Speed) -> Code:
    """Return whether a whole interval is within the limit, past it, or on both sides.

    Written so that a NaN, which an interval cannot have, would be unsure.
    """
    if ratio.high <= speed.limit if speed.limit_passes else ratio.high < speed.limit:
        return Code.SPEED_HOLDS
    if ratio.low > speed.limit if speed.limit_passes else ratio.low >= speed.limit:
        return Code.TOO_SLOW
    return Code.SPEED_UNSURE


def untrusted(rows: Sequence[Row], subject: Subject, policy: Policy) -> list[Reason]:
    """Return that times were not judged, with the worst of them shown."""
    timed = [(row.case.name, row.timing.ratio) for row in rows if row.timing]
    if not timed:
        return []
    name, worst = max(timed, key=lambda one: one[1].high)
    message = f"not judged; the worst is {name}: {_message(worst, policy.speed)}"
    return [subject.reason(Code.SPEED_UNTRUSTED, message, numbers=_numbers(worst, policy.speed))]


def _message(ratio: Interval, speed: Speed) -> str:
    limit = f"{'' if speed.limit_passes else 'below '}{speed.limit:g}"
    return f"{ratio.estimate:.4f} [{ratio.low:.4f}, {ratio.high:.4f}], limit {limit}"


def _numbers(ratio: Interval, speed: Speed) -> dict[str, float | int | str | None]:
    return {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high, "limit": speed.limit}
