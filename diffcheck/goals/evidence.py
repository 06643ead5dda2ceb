"""The receipts that goals are asked of, and why one does not count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffcheck.decide.collect import Found, collect
from diffcheck.decide.identity import contradicted_host, misplanned, not_of_this_tree
from diffcheck.decide.parity import asked_rows
from diffcheck.decide.reasons import Code, Reason, Subject
from diffcheck.decide.trust import distrust
from diffcheck.errors import BadInputError, DiffcheckError
from diffcheck.experiment.load import load_experiment, load_hosts, load_policy
from diffcheck.goals.model import Goals
from diffcheck.receipts.ab.file import ab_receipt_of, read_content
from diffcheck.receipts.ab.model import AbReceipt
from diffcheck.receipts.ab.rows import Row
from diffcheck.receipts.canonical import DIGEST_KEY
from diffcheck.subjects.tree import TreeHashes
from diffcheck.visible import visible


@dataclass(frozen=True)
class Evidence:
    """A receipt of the goals' device, with the rows that its experiment asks for as it is now."""

    file: str
    digest: str
    receipt: AbReceipt
    rows: Mapping[str, Row]
    doubts: tuple[Reason, ...]
    """Why it does not count: what it measured is not the tree's, or its times cannot be trusted."""


def named_receipts(paths: Sequence[Path], goals: Goals, tree: TreeHashes) -> tuple[Evidence, ...]:
    """Read receipts that a user named.

    Raises `BadInputError` for a file that is no A/B receipt, one of another device than the goals', one of an
    experiment that no goal is of, and one that is there twice.
    """
    found: list[Evidence] = []
    for path in paths:
        content, name = read_content(path), visible(path.name)
        receipt = ab_receipt_of(content, name)
        if not _of_device(receipt, goals):
            allowed = f"{goals.device} ({goals.arch}), which the goals {goals.name} are of"
            raise BadInputError(f"receipt {name}, device", f"{receipt.host.device} ({receipt.host.arch})", allowed)
        if receipt.experiment.name not in goals.experiments:
            raise BadInputError(f"receipt {name}, experiment", receipt.experiment.name, ", ".join(goals.experiments))
        made = _evidence(name, str(content[DIGEST_KEY]), receipt, tree)
        if any(one.digest == made.digest for one in found):
            raise BadInputError("receipt", name, "each receipt once")
        found.append(made)
    return tuple(found)


def receipts_in(folder: Path, goals: Goals, tree: TreeHashes) -> tuple[Evidence, ...]:
    """Read the receipts of the goals' device and experiments in a folder of evidence: `<experiment>/<host>.json`.

    Those of other devices, and imports, are passed over. Raises `BadInputError` for no folder, and `DiffcheckError` for
    a file that is no whole receipt: it could have said anything.
    """
    if not folder.is_dir():
        raise BadInputError("evidence", str(folder), "a folder with receipts, such as the repository's evidence/")
    found = [one for name in goals.experiments for one in collect(folder / name)]
    return tuple(made for one in found for made in _of_found(one, goals, tree))


def _of_found(one: Found, goals: Goals, tree: TreeHashes) -> list[Evidence]:
    if one.problem is Code.RECEIPT_IMPORTED:
        return []
    if one.receipt is None or one.digest is None:
        raise DiffcheckError(one.message)
    if not _of_device(one.receipt, goals):
        return []
    return [_evidence(f"{one.name}.json", one.digest, one.receipt, tree)]


def _of_device(receipt: AbReceipt, goals: Goals) -> bool:
    return (receipt.host.device, receipt.host.arch) == (goals.device, goals.arch)


def _evidence(file: str, digest: str, receipt: AbReceipt, tree: TreeHashes) -> Evidence:
    experiment = load_experiment(receipt.experiment.name).content
    rows = {row.case.name: row for row in asked_rows(receipt, experiment, tree.lock)}
    return Evidence(file, digest, receipt, rows, tuple(_doubts(file, receipt, tree)))


def _doubts(file: str, receipt: AbReceipt, tree: TreeHashes) -> list[Reason]:
    experiment = load_experiment(receipt.experiment.name).content
    subject = Subject(receipt.host.id or file, required=True)
    stale = not_of_this_tree(receipt, subject, experiment, tree)
    if stale:
        return stale
    reasons = misplanned(receipt, subject, tree)
    reasons += distrust(receipt, subject, experiment, load_policy(experiment.policy))
    hosts = load_hosts()
    reasons += contradicted_host(receipt, subject, hosts)
    if hosts.find(receipt.host.id) is None:
        named = f"{receipt.host.id} is not in hosts.toml" if receipt.host.id else "the run was given no --host"
        reasons.append(subject.reason(Code.HOST_UNKNOWN, named))
    return reasons
