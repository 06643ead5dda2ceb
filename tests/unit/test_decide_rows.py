"""What a verdict asks of each row: the plan that the planner gives, and bits compared with the right thing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diffcheck.decide.collect import read_found
from diffcheck.decide.model import Decision
from diffcheck.decide.reasons import Code
from diffcheck.decide.verdict import decide
from diffcheck.experiment.load import load_hosts, load_policy
from diffcheck.subjects.tree import TreeHashes
from tests.factory.ab import REQUIRED, Content, ab_content, replan, sealed, small_experiment

SMALL = small_experiment()
TREE = TreeHashes()


def decided(altered: Content, folder: Path) -> Decision:
    """The verdict over a receipt of the rtx4090 and one of the gb10 that is in order."""
    files = []
    for host, content in zip(REQUIRED, (altered, ab_content("gb10", SMALL)), strict=True):
        path = folder / f"{host}.json"
        path.write_text(json.dumps(sealed(content)))
        files.append(read_found(path))
    assert all(one.receipt for one in files), [one.message for one in files]
    return decide(files, SMALL.content, load_policy("kernel-001"), load_hosts(), TREE)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chunk": 1}, "differs in chunk of builder: 1, and the planner gives 128"),
        ({"chunk": 4096}, "differs in chunk of builder: 4096, and the planner gives 128"),
        ({"tile": "w1r1"}, "differs in tile of builder: w1r1, and the planner gives w8r4"),
        ({"policy": "note"}, "differs in split policy of builder: note, and the planner gives one-wave"),
    ],
)
def test_a_plan_that_the_planner_does_not_make_is_named(changes: Content, message: str, tmp_path: Path) -> None:
    altered = ab_content("rtx4090", SMALL)
    for row in range(len(altered["rows"])):
        replan(altered, row, **changes)
    decision = decided(altered, tmp_path)
    assert decision.verdict == "HOLD"
    (first, *_) = [reason for reason in decision.reasons if reason.code is Code.ROW_DIFFERS]
    assert first.message == message


def _bits_against(content: Content, reference: str) -> None:
    """Compare the arms' bits with another result only, and not with each other."""
    for row in content["rows"]:
        row["parity"] = [one for one in row["parity"] if (one["name"], one["b"]) != ("bits", "builder")]
        for one in row["parity"]:
            if one["name"] == "bits":
                one["b"] = reference


@pytest.mark.parametrize(("reference", "verdict"), [("twin", "PROMOTE"), ("moon", "HOLD"), ("naive", "HOLD")])
def test_equal_bits_to_the_reference_alone_are_equal_bits(reference: str, verdict: str, tmp_path: Path) -> None:
    altered = ab_content("rtx4090", SMALL)
    _bits_against(altered, reference)
    decision = decided(altered, tmp_path)
    assert decision.verdict == verdict
    missing = [reason.message for reason in decision.reasons if reason.code is Code.PARITY_MISSING]
    assert missing == ([] if verdict == "PROMOTE" else ["no check bits between builder and oxide"] * 2)
