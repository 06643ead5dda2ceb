"""Run an experiment on one device, row by row, and make its receipt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from diffcheck.ab.bench import Bench
from diffcheck.ab.journal import Entry, Header, Journal
from diffcheck.ab.merge import Earlier
from diffcheck.ab.pace import Pace
from diffcheck.ab.rows import ControlPlan, measure_row
from diffcheck.ab.source import source_state
from diffcheck.ab.warnings import warnings_of
from diffcheck.experiment.load import LoadedExperiment, load_policy
from diffcheck.experiment.rows import ExperimentRow, experiment_rows, select_rungs
from diffcheck.oxide.files import installed_files
from diffcheck.oxide.manifest import read_manifest
from diffcheck.receipts.ab.host import AbTool, GpuUsers, HostFacts
from diffcheck.receipts.ab.model import AbReceipt, ExperimentRecord, Part
from diffcheck.receipts.ab.rows import Row
from diffcheck.selftest.model import SelfTest, SelfTestNotRun
from diffcheck.subjects.tree import run_subjects
from diffcheck.version import CONTRACT, tool_version

SEED = 20_260_714
"""Of the orders of sides and of the bootstrap; each row adds its place."""

Advance = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What a user asked for."""

    experiment: LoadedExperiment
    host_id: str | None
    rungs: tuple[int, ...]
    command: tuple[str, ...]
    """The command line as a receipt tells it."""
    receipt: Path
    pace: Pace
    selftest: SelfTest | SelfTestNotRun


@dataclass(frozen=True)
class Facts:
    """What does not change over a run."""

    header: Header
    tool: AbTool
    host: HostFacts


def facts_of(bench: Bench, asked: Asked) -> Facts:
    """Return the facts of a run. Raises `DiffcheckError` when the tree's lock does not describe it."""
    content = asked.experiment.content
    host = bench.host(asked.host_id)
    source = source_state()
    arms = list(dict.fromkeys(arm for row in experiment_rows(content) for arm in (row.baseline, row.candidate)))
    header = Header(
        experiment=content.name,
        experiment_sha256=asked.experiment.sha256,
        commit=source.commit,
        dirty=source.dirty,
        host=host,
        subjects=run_subjects(arms, bench.target, bench.tiles),
    )
    return Facts(header, AbTool(version=tool_version(), command=asked.command, source=source), host)


def plan_controls(rows: Sequence[ExperimentRow], percents: Sequence[float], min_kv_len: int) -> dict[str, ControlPlan]:
    """Return which rows serve for controls, of all rows of an experiment.

    An A/A on the shortest and on the longest row, where launches and where bytes decide, and one with the planted
    slow-downs on the cheapest row that is long enough.
    """
    by_bytes = sorted(rows, key=lambda row: row.baseline_case.kv_bytes)
    long = [row for row in by_bytes if row.baseline_case.kv_len >= min_kv_len]
    planted = long[0].name if long else None
    chosen = {by_bytes[0].name, *(row.name for row in long[:1])}
    return {
        row.name: ControlPlan(a_a=row.name in chosen, planted_percent=tuple(percents) if row.name == planted else ())
        for row in rows
    }


@dataclass(frozen=True)
class Run:
    """One run: the device, what was asked, and what earlier parts found."""

    bench: Bench
    asked: Asked
    facts: Facts
    earlier: Earlier

    def measure(self, advance: Advance) -> tuple[AbReceipt, Journal]:
        """Measure the rows that are asked for and not yet there; return the receipt of all, and the journal to remove.

        A row that fails parity is not timed, and fails the run. `advance` is called with a row's name as it is done.
        """
        content, pace = self.asked.experiment.content, self.asked.pace
        rows = experiment_rows(content)
        needs = load_policy(content.policy).controls
        controls = plan_controls(rows, needs.planted_percent, needs.planted_min_kv_len)
        journal = Journal(journal_path(self.asked.receipt), self.facts.header)
        before = self.bench.monitor.processes()
        started = pace.clock()
        entries = {entry.row.case.name: entry for entry in journal.resume()}
        resumed = bool(entries)
        wanted = select_rungs(rows, self.asked.rungs)
        for place, row in enumerate(rows):
            if row not in wanted or self.earlier.has(row.name):
                continue
            if row.name not in entries:
                measured = measure_row(self.bench, row, content, controls[row.name], SEED + 10 * place, pace=pace)
                entries[row.name] = Entry(row=measured.row, controls=measured.controls)
                journal.add(entries[row.name])
            advance(row.name)
        part = Part(
            rungs=self.asked.rungs or None,
            command=self.asked.command,
            resumed=resumed,
            seconds=max(0.0, pace.clock() - started),
        )
        users = GpuUsers(
            before=self.earlier.merged(before, "before"),
            after=self.earlier.merged(self.bench.monitor.processes(), "after"),
        )
        return self._receipt(list(entries.values()), part, users), journal

    def _receipt(self, entries: Sequence[Entry], part: Part, users: GpuUsers) -> AbReceipt:
        experiment = self.asked.experiment
        order = {row.name: place for place, row in enumerate(experiment_rows(experiment.content))}
        rows = sorted((*self.earlier.rows, *(one.row for one in entries)), key=lambda row: order[row.case.name])
        controls = [*self.earlier.controls, *(control for one in entries for control in one.controls)]
        record = ExperimentRecord(name=experiment.content.name, sha256=experiment.sha256, content=experiment.content)
        return AbReceipt.model_validate(
            {
                "status": _status(rows, len(order)),
                "tool": self.facts.tool,
                "contract": CONTRACT,
                "experiment": record,
                "host": self.facts.host,
                "subjects": self.facts.header.subjects,
                "cuda_oxide_commit": read_manifest(installed_files().manifest).cuda_oxide.commit,
                "ptxas": self.bench.ptxas(*_kernels(rows)),
                "gpu_users": users,
                "selftest": self.asked.selftest,
                "rows": tuple(rows),
                "controls": tuple(controls),
                "parts": (*self.earlier.parts, part),
                "warnings": warnings_of(rows, controls, self.facts.host),
            }
        )


def journal_path(receipt: Path) -> Path:
    """Return where the journal of a run with this receipt is."""
    return receipt.with_name(f"{receipt.name}.journal")


def _status(rows: Sequence[Row], asked: int) -> str:
    if any(row.status == "fails parity" for row in rows):
        return "fails"
    return "complete" if len(rows) == asked else "partial"


def _kernels(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    sides = [side for row in rows for side in (row.baseline, row.candidate)]
    return (
        list(dict.fromkeys(side.arm for side in sides)),
        list(dict.fromkeys(entry for side in sides for entry in side.entries)),
    )
