"""Whether both arms were right on the device: bits, bounds, and the policy's limits against f64."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from diffcheck.arms import ARMS, get_arm
from diffcheck.decide.reasons import Code, Reason, Subject
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.policy import Accuracy, Policy
from diffcheck.experiment.rows import ExperimentRow, experiment_rows
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Row
from diffcheck.receipts.metrics import Check, Metrics
from diffcheck.subjects.lock import Lock, Planned

_CODES = {
    "bits": Code.BITS_DIFFER,
    "oracle": Code.BOUND_EXCEEDED,
    "naive": Code.BOUND_EXCEEDED,
    "split-naive": Code.BOUND_EXCEEDED,
    "memory": Code.KERNEL_MISBEHAVES,
    "executes": Code.KERNEL_MISBEHAVES,
    "scratch": Code.BITS_DIFFER,
}
_AGAINST_F64 = ("oracle", "naive")
_OF_OUTPUTS = ("bits", *_AGAINST_F64)
_REFERENCES = tuple(name for name, arm in ARMS.items() if arm.role == "reference")
_OF_PLANS = {"policy": "split policy", "profile": "profile", "chunk": "chunk", "tile": "tile"}


def missing_rows(receipt: AbReceipt, subject: Subject, experiment: Experiment, lock: Lock) -> list[Reason]:
    """Return a reason for each row of the experiment that the receipt has not, or has otherwise."""
    have = {row.case.name: row for row in receipt.rows}
    reasons: list[Reason] = []
    for asked in experiment_rows(experiment):
        row = have.get(asked.name)
        if row is None:
            reasons.append(
                subject.reason(
                    Code.ROW_MISSING,
                    "was not measured",
                    row=asked.name,
                    remedy=f"diffcheck ab {experiment.name} --host {receipt.host.id or 'ID'}",
                )
            )
        elif field := _differs(row, asked, _plans(receipt, asked, lock)):
            reasons.append(subject.reason(Code.ROW_DIFFERS, f"differs in {field}", row=asked.name))
    return reasons


def asked_rows(receipt: AbReceipt, experiment: Experiment, lock: Lock) -> list[Row]:
    """Return the rows that the experiment asks for, as it asks for them."""
    asked = {row.name: row for row in experiment_rows(experiment)}
    pairs = [(row, asked[row.case.name]) for row in receipt.rows if row.case.name in asked]
    return [row for row, wanted in pairs if not _differs(row, wanted, _plans(receipt, wanted, lock))]


def judge_parity(receipt: AbReceipt, subject: Subject, asked: Sequence[Row], policy: Policy) -> list[Reason]:
    """Return what is wrong with the outputs, or that nothing is.

    Every row is looked at, those too that the experiment no longer asks for: a wrong output is one wherever it shows.
    Of the rows that are `asked` for no check may be missing.
    """
    wrong = [reason for row in receipt.rows for reason in _failures(row, subject)]
    wrong += [reason for row in asked for reason in _gaps(row, subject)]
    limits = [reason for row in receipt.rows for reason in _limits(row, subject, policy.accuracy)]
    rows = len(receipt.rows)
    if not wrong:
        words = sum(check.compared for row in receipt.rows for check in row.parity if check.name == "bits")
        message = f"{rows} rows: every check holds"
        wrong = [subject.reason(Code.PARITY_HOLDS, message, numbers={"rows": rows, "words_equal": words})]
    if not limits:
        metrics = [metric for row in receipt.rows for check in _f64_checks(row) for metric in _metrics(check)]
        numbers: dict[str, float | int | str | None] = {
            "rows": rows,
            "least_cosine": min((m.cosine for m in metrics if m.cosine is not None), default=None),
            "largest_error": max((m.max_abs for m in metrics if m.max_abs is not None), default=None),
        }
        limits = [subject.reason(Code.ACCURACY_HOLDS, f"{rows} rows: within the limits", numbers=numbers)]
    return wrong + limits


def _plans(receipt: AbReceipt, asked: ExperimentRow, lock: Lock) -> tuple[Planned, Planned]:
    """Return the plans that both sides must have on the receipt's device."""
    host = receipt.host
    baseline, candidate = (
        lock.plan_of(case, host.arch, host.sms) for case in (asked.baseline_case, asked.candidate_case)
    )
    return baseline, candidate


def _differs(row: Row, asked: ExperimentRow, plans: tuple[Planned, Planned]) -> str:
    case = asked.baseline_case
    for field in ("num_q_heads", "num_kv_heads", "head_dim", "kv_len", "storage", "layout", "generator", "seed"):
        if getattr(row.case, field) != getattr(case, field):
            return field
    if (row.baseline.arm, row.candidate.arm) != (asked.baseline, asked.candidate):
        return "arms"
    for side, plan in zip((row.baseline, row.candidate), plans, strict=True):
        for field, words in _OF_PLANS.items():
            stated, wanted = getattr(side.plan, field), getattr(plan, field)
            if stated != wanted:
                return f"{words} of {side.arm}: {stated}, and the planner gives {wanted}"
    return "" if row.kv_bytes == case.kv_bytes else "kv_bytes"


def _failures(row: Row, subject: Subject) -> Iterator[Reason]:
    for check in row.parity:
        if not check.holds:
            yield subject.reason(
                _CODES[check.name],
                f"{check.a} against {check.b}: {check.reason}",
                row=row.case.name,
                numbers={
                    "compared": check.compared,
                    "equal": None if check.whole is None else check.whole.equal,
                    "ratio": check.ratio,
                },
            )
        elif _has_nan(check):
            message = f"{check.a} against {check.b}: holds, and one of its numbers is none"
            yield subject.reason(Code.PARITY_MISSING, message, row=row.case.name)


def _gaps(row: Row, subject: Subject) -> Iterator[Reason]:
    # Of an arm that did not run to its end there is nothing more to check.
    if any(check.name == "executes" and not check.holds for check in row.parity):
        return
    for missing in _missing(row):
        yield subject.reason(Code.PARITY_MISSING, missing, row=row.case.name)


def _has_nan(check: Check) -> bool:
    numbers = [check.ratio]
    for metrics in _metrics(check):
        numbers += [metrics.bitwise_percent, metrics.max_abs, metrics.max_rel, metrics.cosine]
    return any(number is not None and math.isnan(number) for number in numbers)


def _missing(row: Row) -> Iterator[str]:
    names = (row.baseline.arm, row.candidate.arm)
    for name in names:
        f64 = "oracle" if get_arm(name).role == "bits" else "naive"
        for wanted, by in (("memory", "contract"), (f64, "oracle")):
            if not any((check.a, check.name, check.b) == (name, wanted, by) for check in row.parity):
                yield f"{name} has no check {wanted}"
    words = row.case.num_q_heads * row.case.head_dim
    for check in row.parity:
        # A check that failed says so by itself, and may have nothing to count.
        if check.holds and check.name in _OF_OUTPUTS and (check.whole is None or check.compared != words):
            told = "no numbers" if check.whole is None else f"{check.compared} words of {words}"
            yield f"{check.name} of {check.a} against {check.b}: {told}"
    if row.relation == "bitwise" and not _bits_compared(row.parity, *names):
        yield f"no check bits between {names[0]} and {names[1]}"


def _bits_compared(checks: tuple[Check, ...], one: str, other: str) -> bool:
    pairs = {frozenset((check.a, check.b)) for check in checks if check.name == "bits"}
    # Equal bits to the reference are equal bits. Another arm may be anything, one that does not exist too.
    return frozenset((one, other)) in pairs or any(
        {frozenset((one, name)), frozenset((other, name))} <= pairs for name in _REFERENCES
    )


def _limits(row: Row, subject: Subject, limits: Accuracy) -> Iterator[Reason]:
    for check in _f64_checks(row):
        for metrics in _metrics(check):
            cosine, error = metrics.cosine, metrics.max_abs
            # Written so that NaN, which no comparison is true for, fails.
            if cosine is None or not cosine >= limits.min_cosine:
                yield subject.reason(
                    Code.COSINE_LOW,
                    f"{check.a}: cosine {cosine} against f64; the limit is {limits.min_cosine}",
                    row=row.case.name,
                    numbers={"cosine": cosine, "limit": limits.min_cosine},
                )
            if error is None or not _within(error, limits.max_abs_error, limits.max_abs_error_passes):
                yield subject.reason(
                    Code.ERROR_HIGH,
                    f"{check.a}: largest error {error} against f64; the limit is {limits.max_abs_error}",
                    row=row.case.name,
                    numbers={"error": error, "limit": limits.max_abs_error},
                )
        if check.whole is None:
            yield subject.reason(Code.PARITY_MISSING, f"{check.a}: no numbers against f64", row=row.case.name)


def _within(value: float, limit: float, limit_passes: bool) -> bool:
    return value <= limit if limit_passes else value < limit


def _f64_checks(row: Row) -> list[Check]:
    return [check for check in row.parity if check.name in _AGAINST_F64]


def _metrics(check: Check) -> list[Metrics]:
    """All rows together, and the worst row where one is named: a whole hides a row."""
    return [metrics for metrics in (check.whole, check.worst_row) if metrics is not None]
