"""An experiment's rows, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from diffcheck import suites
from diffcheck.cases import Case
from diffcheck.errors import BadInputError
from diffcheck.experiment.model import Experiment

MOST_ROWS = 10_000
"""More than any run has time for: a receipt's experiment is read before anything of it is believed."""


@dataclass(frozen=True)
class ExperimentRow:
    """One thing to measure. The two cases draw the same inputs and differ in the split policy at most."""

    name: str
    baseline: str
    """The baseline arm."""
    candidate: str
    """The candidate arm."""
    baseline_case: Case
    candidate_case: Case


def experiment_rows(experiment: Experiment) -> tuple[ExperimentRow, ...]:
    """Return every row of an experiment, in the order of its file.

    Raises `BadInputError` for a generator that does not exist, heads that do not divide, a row that is there twice, and
    for more than `MOST_ROWS`.
    """
    count = sum(len(family.heads) * len(family.storages) * len(family.kv_lens) for family in experiment.rows)
    if count > MOST_ROWS:
        raise BadInputError("rows", count, f"at most {MOST_ROWS} rows")
    found: dict[str, ExperimentRow] = {}
    for family in experiment.rows:
        for heads in family.heads:
            for storage in family.storages:
                for kv_len in family.kv_lens:
                    if heads[0] % heads[1]:
                        raise BadInputError("rows.heads", list(heads), "query heads that the KV heads divide")
                    case = suites.case(family.generator, heads, kv_len, storage)
                    row = ExperimentRow(
                        name=case.name,
                        baseline=family.baseline or experiment.arms.baseline,
                        candidate=experiment.arms.candidate,
                        baseline_case=replace(case, policy=experiment.split.baseline),
                        candidate_case=replace(case, policy=experiment.split.candidate),
                    )
                    if found.setdefault(case.name, row) is not row:
                        raise BadInputError("rows", case.name, "each row once")
    return tuple(found.values())


def select_rungs(rows: tuple[ExperimentRow, ...], rungs: tuple[int, ...]) -> tuple[ExperimentRow, ...]:
    """Return the rows of some lengths, or all when none is named. Raises `BadInputError` for a length of no row."""
    lengths = sorted({row.baseline_case.kv_len for row in rows})
    for rung in rungs:
        if rung not in lengths:
            raise BadInputError("rungs", rung, ", ".join(map(str, lengths)))
    return tuple(row for row in rows if not rungs or row.baseline_case.kv_len in rungs)
