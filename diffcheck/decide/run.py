"""Deciding from what lies in the package and in a folder of evidence."""

from __future__ import annotations

from pathlib import Path

from diffcheck.decide.collect import collect
from diffcheck.decide.model import Decision
from diffcheck.decide.verdict import decide
from diffcheck.experiment.load import load_experiment, load_hosts, load_policy
from diffcheck.subjects.tree import TreeHashes

EVIDENCE = Path("evidence")


def decide_experiment(name: str, policy: str | None = None, evidence: Path = EVIDENCE) -> Decision:
    """Decide an experiment by `evidence/<experiment>/*.json`; `policy` None: the experiment's own.

    Raises `BadInputError` for an experiment or policy that does not exist and for evidence that is no folder.
    """
    experiment = load_experiment(name).content
    chosen = load_policy(experiment.policy if policy is None else policy)
    return decide(collect(evidence / experiment.name), experiment, chosen, load_hosts(), TreeHashes())
