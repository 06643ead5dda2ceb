"""Whether a receipt has all that its conclusion rests on: a check that is not there must not read as one that holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from diffcheck.receipts.looked_at import wrong_check
from diffcheck.repeated import first_repeated

if TYPE_CHECKING:
    from diffcheck.receipts.cases import CaseFacts, InterpretedCase, MeasuredCase
    from diffcheck.receipts.metrics import Check
    from diffcheck.receipts.model import Receipt

# What must have been looked at of an arm that ran to its end, by its role.
_REQUIRED: Mapping[str, tuple[str, ...]] = {"bits": ("memory", "bits", "oracle"), "bounded": ("memory", "naive")}


def what_is_missing(receipt: Receipt) -> str:
    """Return, in one line, the first thing that is missing or belongs to nothing; empty where all is there."""
    roles = {arm.name: str(arm.role) for arm in receipt.arms}
    return _wrong_arms(receipt, roles) or _wrong_cases(receipt) or _wrong_runs(receipt, roles) or _idle(receipt, roles)


def _wrong_arms(receipt: Receipt, roles: Mapping[str, str]) -> str:
    if roles.get(receipt.reference.arm) != "reference":
        return f"reference: {receipt.reference.arm} is not among the arms as such"
    twice = first_repeated(arm.name for arm in receipt.arms)
    return "" if twice is None else f"arms: {twice} is there twice"


def _wrong_cases(receipt: Receipt) -> str:
    for tier in (receipt.reference, receipt.interpreted, receipt.measured):
        cases = tier.cases if tier else ()
        twice = first_repeated(f"{case.case.name} of the plan {case.case.plan.key}" for case in cases)
        if twice is not None:
            return f"cases: {twice} is there twice"
        for case in cases:
            wrong = wrong_check(case.checks, case.case, case.case.plan, case.case.stage)
            if wrong:
                return f"case {case.case.name}: {wrong}"
    return ""


def _wrong_runs(receipt: Receipt, roles: Mapping[str, str]) -> str:
    judged = {(case.case.name, case.case.plan.key): case.case for case in receipt.reference.cases}
    for case in _run_cases(receipt):
        other = judged.get((case.case.name, case.case.plan.key))
        if other is None:
            return f"reference: no case {case.case.name} of the plan {case.case.plan.key}"
        wrong = _unlike(case.case, other) or _of_case(case, roles, receipt.reference.arm)
        if wrong:
            return f"case {case.case.name}: {wrong}"
    return ""


def _run_cases(receipt: Receipt) -> list[InterpretedCase | MeasuredCase]:
    return [case for tier in (receipt.interpreted, receipt.measured) for case in (tier.cases if tier else ())]


def _idle(receipt: Receipt, roles: Mapping[str, str]) -> str:
    part = {receipt.reference.arm, *(arm.name for case in _run_cases(receipt) for arm in case.arms)}
    idle = [name for name in roles if name not in part]
    return f"arms: {idle[0]} took part in no case" if idle else ""


def _unlike(one: CaseFacts, judged: CaseFacts) -> str:
    """Return how a case is not the one that the reference judged: one name may not stand for two."""
    for name in type(one).model_fields:
        stated, other = getattr(one, name), getattr(judged, name)
        if stated != other:
            return f"{name} {stated} contradicts the reference's, {other}"
    return ""


def _of_case(case: InterpretedCase | MeasuredCase, roles: Mapping[str, str], reference: str) -> str:
    names = [arm.name for arm in case.arms]
    twice = first_repeated(names)
    if twice is not None:
        return f"{twice} is there twice"
    for name in names:
        if roles.get(name) not in _REQUIRED:
            return f"{name} is not among the arms as one that runs kernels"
        missing = _missing_checks([check for check in case.checks if check.a == name], roles[name], reference)
        if missing:
            return f"{name} has no check {missing}"
    strangers = [check.a for check in case.checks if check.a not in names]
    return f"a check of {strangers[0]}, which did not run" if strangers else ""


def _missing_checks(checks: Sequence[Check], role: str, reference: str) -> str:
    if any(check.name == "executes" and not check.holds for check in checks):
        return ""
    for name in _REQUIRED[role]:
        found = [check for check in checks if check.name == name]
        if not found:
            return name
        if name == "bits" and not any(check.b == reference for check in found):
            return f"{name} against {reference}"
    return ""
