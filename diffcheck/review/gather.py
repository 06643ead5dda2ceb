"""What a page shows: the decision, and each receipt with how it was judged. The files are read once for both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from diffcheck.decide.collect import collect
from diffcheck.decide.identity import compare_subjects
from diffcheck.decide.model import Decision, Judged
from diffcheck.decide.reasons import Reason
from diffcheck.decide.verdict import decide
from diffcheck.experiment.hosts import Hosts
from diffcheck.experiment.load import load_experiment, load_hosts, load_policy
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.policy import Policy
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.subjects.tree import TreeHashes


@dataclass(frozen=True)
class ComparedSubject:
    """One hash that decides freshness: as recorded, and as the tree has it; None: absent."""

    name: str
    recorded: str | None
    current: str | None

    @property
    def fresh(self) -> bool:
        """Whether both are the same."""
        return self.recorded == self.current


@dataclass(frozen=True)
class HostReview:
    """One receipt that could be read."""

    receipt: AbReceipt
    judged: Judged
    subjects: tuple[ComparedSubject, ...]
    reasons: tuple[Reason, ...]
    """Those of the decision that speak of its host."""

    @property
    def title(self) -> str:
        """The host's id, or the name of its file."""
        return self.receipt.host.id or self.judged.file.removesuffix(".json")


@dataclass(frozen=True)
class Review:
    """Everything that a page shows."""

    decision: Decision
    experiment: Experiment
    policy: Policy
    hosts: Hosts
    receipts: tuple[HostReview, ...]
    """Required hosts first."""


def gather(name: str, policy: str | None, evidence: Path) -> Review:
    """Decide an experiment as `decide_experiment` does, and keep the receipts. Raises the same errors."""
    experiment = load_experiment(name).content
    chosen = load_policy(experiment.policy if policy is None else policy)
    hosts, tree = load_hosts(), TreeHashes()
    found = collect(evidence / experiment.name)
    decision = decide(found, experiment, chosen, hosts, tree)
    judged = {record.file: record for record in decision.receipts}
    receipts: list[HostReview] = []
    for one in found:
        if one.receipt is not None:
            host = one.receipt.host.id or one.name
            compared = compare_subjects(one.receipt, experiment, tree)
            receipts.append(
                HostReview(
                    receipt=one.receipt,
                    judged=judged[f"{one.name}.json"],
                    subjects=tuple(ComparedSubject(*subject) for subject in compared),
                    reasons=tuple(reason for reason in decision.reasons if reason.host == host),
                )
            )
    receipts.sort(key=lambda one: (one.judged.role != "required", one.judged.file))
    return Review(decision, experiment, chosen, hosts, tuple(receipts))
