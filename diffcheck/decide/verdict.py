"""From reasons to a verdict, in the order of precedence: REJECT, HOLD, INCONCLUSIVE, PROMOTE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diffcheck.decide.collect import Found
from diffcheck.decide.identity import Identified, copied, identify, misplanned, rerun
from diffcheck.decide.model import Decision, Judged, Verdict
from diffcheck.decide.parity import asked_rows, judge_parity, missing_rows
from diffcheck.decide.reasons import Code, Reason, Severity, Subject
from diffcheck.decide.speed import judge_speed, untrusted
from diffcheck.decide.trust import distrust
from diffcheck.experiment.hosts import Hosts
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.policy import Policy
from diffcheck.receipts.ab.rows import Row
from diffcheck.receipts.fields import Target
from diffcheck.subjects.lock import RENEW, Lock
from diffcheck.subjects.tree import TreeHashes

_WHOLE = Subject(None, required=True)
# What stands in a verdict's way, and the verdict that it makes.
_PRECEDENCE: tuple[tuple[Severity, Verdict], ...] = (
    ("reject", "REJECT"),
    ("hold", "HOLD"),
    ("inconclusive", "INCONCLUSIVE"),
)


def decide(found: Sequence[Found], experiment: Experiment, policy: Policy, hosts: Hosts, tree: TreeHashes) -> Decision:
    """Return the verdict on an experiment from the files that were found. Their order does not matter."""
    identified = identify(found, experiment, hosts, tree)
    reasons = [reason for one in found for reason in _unreadable(one)]
    judged = [_not_a_receipt(one) for one in found if one.receipt is None]
    for one in identified:
        more, record = _judge(one, experiment, policy, tree.lock)
        reasons += more + copied(one, identified)
        reasons += misplanned(one.receipt, one.subject, tree) if one.fresh else []
        judged.append(record)
    reasons += _as_a_whole(judged, experiment, hosts, tree)
    return Decision(
        experiment=experiment.name,
        question=experiment.question,
        policy=policy.name,
        verdict=_verdict(reasons, judged, experiment),
        required_architectures=experiment.required_architectures,
        gated_rows=sum(record.rows for record in judged),
        reasons=tuple(sorted(reasons, key=lambda reason: reason.sort_key)),
        receipts=tuple(sorted(judged, key=lambda record: (record.file, record.digest or ""))),
    )


def _verdict(reasons: Sequence[Reason], judged: Sequence[Judged], experiment: Experiment) -> Verdict:
    severities = {reason.severity for reason in reasons}
    for severity, verdict in _PRECEDENCE:
        if severity in severities:
            return verdict
    # Nothing stands in the way, which is not yet evidence: each required architecture must have passed.
    passed = {record.arch for record in judged if record.rows}
    proven = bool(experiment.required_architectures) and set(experiment.required_architectures) <= passed
    return "PROMOTE" if proven else "INCONCLUSIVE"


def _unreadable(one: Found) -> list[Reason]:
    if one.problem is None:
        return []
    return [Subject(one.name, required=True).reason(one.problem, one.message)]


def _not_a_receipt(one: Found) -> Judged:
    return Judged(
        file=f"{one.name}.json",
        digest=None,
        host=None,
        arch=None,
        device=None,
        role="not a receipt",
        fresh=False,
        trusted=False,
        rows=0,
    )


def _judge(one: Identified, experiment: Experiment, policy: Policy, lock: Lock) -> tuple[list[Reason], Judged]:
    receipt, subject = one.receipt, one.subject
    reasons = list(one.reasons)
    doubts: list[Reason] = []
    rows: list[Row] = []
    if one.fresh:
        rows = asked_rows(receipt, experiment, lock)
        doubts = distrust(receipt, subject, experiment, policy)
        reasons += missing_rows(receipt, subject, experiment, lock)
        reasons += judge_parity(receipt, subject, rows, policy) + doubts
        reasons += untrusted(rows, subject, policy) if doubts else judge_speed(rows, subject, policy)
    counts = one.fresh and not doubts and subject.required
    record = Judged(
        file=f"{one.found.name}.json",
        digest=one.found.digest,
        host=receipt.host.id,
        arch=receipt.host.arch,
        device=receipt.host.device,
        role="required" if subject.required else "advisory",
        fresh=one.fresh,
        trusted=one.fresh and not doubts,
        rows=sum(row.timing is not None for row in rows) if counts else 0,
    )
    return reasons, record


def _as_a_whole(judged: Sequence[Judged], experiment: Experiment, hosts: Hosts, tree: TreeHashes) -> list[Reason]:
    reasons: list[Reason] = []
    if tree.moved:
        reasons.append(_WHOLE.reason(Code.TREE_UNLOCKED, f"changed: {', '.join(tree.moved)}", remedy=RENEW))
    if not experiment.required_architectures:
        reasons.append(_WHOLE.reason(Code.NOTHING_REQUIRED, "the experiment requires no architecture"))
    known: Mapping[Target, list[str]] = {
        arch: [host.id for host in hosts.hosts if host.arch == arch] for arch in experiment.required_architectures
    }
    for arch, ids in known.items():
        if not any(record.role == "required" and record.fresh and record.arch == arch for record in judged):
            offered = " or ".join(ids) if ids else "no host of hosts.toml"
            reasons.append(
                _WHOLE.reason(
                    Code.RECEIPT_MISSING,
                    f"{arch}: no fresh receipt ({offered})",
                    numbers={"arch": arch},
                    remedy=rerun(experiment, ids[0] if ids else None),
                )
            )
    if not any(record.rows for record in judged):
        reasons.append(_WHOLE.reason(Code.NOTHING_GATED, "no row was judged", numbers={"rows": 0}))
    return reasons
