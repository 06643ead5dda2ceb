"""Whose receipt it is, and whether it speaks of this tree and this experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from diffcheck.ab.recompute import Samples, sampled
from diffcheck.decide.collect import Found
from diffcheck.decide.reasons import Code, Reason, Subject
from diffcheck.errors import DiffcheckError
from diffcheck.experiment.hosts import Hosts
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.subjects import Subjects
from diffcheck.subjects.lock import RENEW
from diffcheck.subjects.tree import TreeHashes


@dataclass(frozen=True)
class Identified:
    """A receipt that could be read, whom its reasons speak of, and the reasons found so far."""

    found: Found
    receipt: AbReceipt
    subject: Subject
    reasons: tuple[Reason, ...]
    fresh: bool
    """Whether it speaks of this tree and this experiment: only then is it judged."""

    @cached_property
    def samples(self) -> frozenset[Samples]:
        """The times of all that it has samples of."""
        return frozenset(one.samples for one in sampled(self.receipt))


def identify(found: Sequence[Found], experiment: Experiment, hosts: Hosts, tree: TreeHashes) -> list[Identified]:
    """Say of each readable receipt whose it is and whether it is fresh."""
    ids = Counter(one.receipt.host.id for one in found if one.receipt)
    made: list[Identified] = []
    for one in found:
        if one.receipt is None:
            continue
        subject = _subject(one, one.receipt, experiment, hosts)
        reasons = _host_reasons(one, one.receipt, subject, hosts, ids)
        reasons += _place_reasons(one, one.receipt, subject, experiment)
        differences = not_of_this_tree(one.receipt, subject, experiment, tree)
        made.append(Identified(one, one.receipt, subject, tuple(reasons + differences), not differences))
    return made


def rerun(experiment: Experiment, host: str | None) -> str:
    """Return the command that supplies a host's receipt."""
    return f"diffcheck ab {experiment.name} --host {host or 'ID'}"


def _subject(one: Found, receipt: AbReceipt, experiment: Experiment, hosts: Hosts) -> Subject:
    host = hosts.find(receipt.host.id)
    # A host whose receipt contradicts hosts.toml counts as what hosts.toml says: no receipt talks itself out of duty.
    required = host is not None and host.arch in experiment.required_architectures
    return Subject(receipt.host.id or one.name, required)


def _host_reasons(
    one: Found, receipt: AbReceipt, subject: Subject, hosts: Hosts, ids: Counter[str | None]
) -> list[Reason]:
    host = hosts.find(receipt.host.id)
    reasons: list[Reason] = []
    if host is None:
        named = f"{receipt.host.id} is not in hosts.toml" if receipt.host.id else "the run was given no --host"
        reasons.append(
            subject.reason(
                Code.HOST_UNKNOWN, f"{named}: advisory", remedy="add the host to experiments/hosts.toml and run again"
            )
        )
    reasons += contradicted_host(receipt, subject, hosts)
    if receipt.host.id is not None and ids[receipt.host.id] > 1:
        message = f"{one.name}.json is one of {ids[receipt.host.id]} receipts of this host"
        reasons.append(subject.reason(Code.HOST_TWICE, message, remedy="keep one of the files"))
    return reasons


def contradicted_host(receipt: AbReceipt, subject: Subject, hosts: Hosts) -> list[Reason]:
    """Return that hosts.toml gives a receipt's host another architecture; empty where it does not, or names no such."""
    host = hosts.find(receipt.host.id)
    if host is None or host.arch == receipt.host.arch:
        return []
    message = f"hosts.toml says {host.arch}, the receipt's device is {receipt.host.arch} ({receipt.host.device})"
    return [subject.reason(Code.HOST_CONTRADICTS, message)]


def _place_reasons(one: Found, receipt: AbReceipt, subject: Subject, experiment: Experiment) -> list[Reason]:
    reasons: list[Reason] = []
    if receipt.experiment.name != experiment.name:
        message = f"{one.name}.json is of the experiment {receipt.experiment.name}"
        reasons.append(subject.reason(Code.RECEIPT_MISPLACED, message))
    if receipt.host.id is not None and receipt.host.id != one.name:
        message = f"{one.name}.json is of the host {receipt.host.id}"
        reasons.append(subject.reason(Code.RECEIPT_MISPLACED, message, remedy=f"name it {receipt.host.id}.json"))
    return reasons


def not_of_this_tree(receipt: AbReceipt, subject: Subject, experiment: Experiment, tree: TreeHashes) -> list[Reason]:
    """Return why a receipt does not speak of this tree and this experiment; empty: it is fresh."""
    asked = receipt.experiment.content
    if (asked.name, asked.relation, asked.arms.baseline, asked.arms.candidate) != (
        experiment.name,
        experiment.relation,
        experiment.arms.baseline,
        experiment.arms.candidate,
    ):
        message = f"it asked {asked.name}: {asked.arms.candidate} against {asked.arms.baseline}, {asked.relation}"
        return [subject.reason(Code.EXPERIMENT_DIFFERS, message, remedy=rerun(experiment, receipt.host.id))]
    if tree.moved:
        return [subject.reason(Code.TREE_UNLOCKED, f"changed: {', '.join(tree.moved)}", remedy=RENEW)]
    return [
        subject.reason(
            Code.RECEIPT_STALE,
            f"{name} is not the tree's",
            numbers={"recorded": recorded, "current": current},
            remedy=rerun(experiment, receipt.host.id),
        )
        for name, recorded, current in stale_subjects(receipt, experiment, tree)
    ]


def misplanned(receipt: AbReceipt, subject: Subject, tree: TreeHashes) -> list[Reason]:
    """Return that a receipt's calls were planned for another device than the one that it names."""
    host = receipt.host
    planned, own = receipt.rows[0].baseline.plan.profile, tree.lock.profile_of(host.arch, host.sms)
    if planned == own:
        return []
    message = f"planned with the profile {planned}; that of {host.arch} with {host.sms} multiprocessors is {own}"
    return [subject.reason(Code.ROW_DIFFERS, message)]


def copied(one: Identified, others: Sequence[Identified]) -> list[Reason]:
    """Return which receipts of other hosts are of the same device, or have samples of this one."""
    reasons: list[Reason] = []
    host = one.receipt.host
    for other in others:
        if other is one or other.receipt.host.id == host.id:
            continue
        named = host.id is not None and other.receipt.host.id is not None
        if named and host.uuid_sha256 is not None and host.uuid_sha256 == other.receipt.host.uuid_sha256:
            reasons.append(one.subject.reason(Code.RECEIPT_COPIED, f"{other.found.name}.json is of the same device"))
        elif one.samples & other.samples:
            reasons.append(one.subject.reason(Code.RECEIPT_COPIED, f"{other.found.name}.json has the same samples"))
    return reasons


def stale_subjects(
    receipt: AbReceipt, experiment: Experiment, tree: TreeHashes
) -> list[tuple[str, str | None, str | None]]:
    """Return each subject whose recorded hash is not the tree's: name, recorded hash, current hash (None: absent)."""
    found = compare_subjects(receipt, experiment, tree)
    return [(name, recorded, current) for name, recorded, current in found if recorded != current]


def compare_subjects(
    receipt: AbReceipt, experiment: Experiment, tree: TreeHashes
) -> list[tuple[str, str | None, str | None]]:
    """Return every subject, fresh or stale: name, recorded hash, current hash (None: absent)."""
    rows = experiment_rows(experiment)
    arms = tuple(dict.fromkeys(arm for row in rows for arm in (row.baseline, row.candidate)))
    try:
        current = _flat(tree.subjects(arms, receipt.host.arch))
    except DiffcheckError as error:
        return [("PTX", None, str(error))]
    recorded = _flat(receipt.subjects)
    names = [*current, *(name for name in recorded if name not in current)]
    return [(name, recorded.get(name), current.get(name)) for name in names]


def _flat(subjects: Subjects) -> dict[str, str]:
    plain = {
        name.removesuffix("_sha256").replace("_", " "): str(value)
        for name, value in subjects.model_dump(exclude={"ptx"}).items()
    }
    return {**plain, **{f"PTX of {ptx.arm} for {ptx.target}": ptx.sha256 for ptx in subjects.ptx}}
