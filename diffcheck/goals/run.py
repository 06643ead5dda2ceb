"""All goals against all receipts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from diffcheck.experiment.rows import ExperimentRow
from diffcheck.goals.evidence import Evidence, named_receipts, receipts_in
from diffcheck.goals.judge import Held, judge
from diffcheck.goals.load import load_goals, selected_rows
from diffcheck.goals.model import Goal
from diffcheck.goals.report import Line, Report, Source, Status
from diffcheck.review.rows import family_of
from diffcheck.subjects.tree import TreeHashes

DEFAULT = "h200"


def check_goals(name: str, receipts: Sequence[Path], evidence: Path) -> Report:
    """Hold the goals of that name against receipts; none named: those of their device in the folder `evidence`.

    A row that several receipts have must meet a goal in each. Raises `DiffcheckError` for goals that do not exist, and
    for receipts as `named_receipts` and `receipts_in` do.
    """
    goals, tree = load_goals(name), TreeHashes()
    found = named_receipts(receipts, goals, tree) if receipts else receipts_in(evidence, goals, tree)
    lines = tuple(line for goal in goals.goals for line in _lines(goal, found))
    return Report(
        goals=goals.name,
        title=goals.title,
        device=goals.device,
        arch=goals.arch,
        status="met" if all(line.holds for line in lines) else "missed",
        sources=tuple(_source(one) for one in found),
        lines=lines,
    )


def _lines(goal: Goal, found: Sequence[Evidence]) -> Iterator[Line]:
    of_goal = [one for one in found if one.receipt.experiment.name == goal.experiment]
    for asked in selected_rows(goal):
        having = [one for one in of_goal if asked.name in one.rows]
        for one in having:
            for held in judge(goal, one.rows[asked.name]):
                yield _line(goal, asked, held, one)
        if not having:
            for held in judge(goal, None):
                yield _line(goal, asked, held, None)


def _line(goal: Goal, asked: ExperimentRow, held: Held, one: Evidence | None) -> Line:
    status: Status = "not measured"
    if held.sides:
        status = "met" if all(side.met for side in held.sides) else "missed"
    return Line(
        goal=goal.title,
        kind=goal.kind,
        experiment=goal.experiment,
        row=asked.name,
        family=family_of(asked.baseline_case),
        kv_len=asked.baseline_case.kv_len,
        against=held.against,
        reference=held.reference,
        unit=held.unit,
        allowed=held.allowed,
        rule=held.rule,
        sides=held.sides,
        receipt=one.file if one else None,
        counted=one is not None and not one.doubts,
        status=status,
        reason=held.reason,
    )


def _source(one: Evidence) -> Source:
    return Source(
        file=one.file,
        digest=one.digest,
        experiment=one.receipt.experiment.name,
        host=one.receipt.host.id,
        commit=one.receipt.tool.source.commit,
        doubts=one.doubts,
    )
