"""The receipt of one A/B run: everything needed to judge it. Nothing in it is a decision."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from diffcheck.cases import Case
from diffcheck.experiment.model import Experiment
from diffcheck.experiment.rows import experiment_rows
from diffcheck.receipts.ab.host import AbTool, GpuUsers, HostFacts, PtxasFacts
from diffcheck.receipts.ab.rows import Control, Row, RowCase
from diffcheck.receipts.ab.samples import Comparison, Percent
from diffcheck.receipts.ab.subjects import Subjects
from diffcheck.receipts.fields import Model, Name, Sha256
from diffcheck.selftest.model import SelfTest, SelfTestNotRun

SCHEMA: Literal["diffcheck-ab/1"] = "diffcheck-ab/1"
# What an experiment says of a row. Its layout and seed are the registry's, which may change after a run.
_ASKED = ("num_q_heads", "num_kv_heads", "head_dim", "kv_len", "storage", "generator")


class ExperimentRecord(Model):
    """The experiment as it was asked."""

    name: Name
    sha256: Sha256
    """Of its file."""
    content: Experiment


class Part(Model):
    """One process that measured some of the rows."""

    rungs: tuple[int, ...] | None
    """The lengths that it was asked for; null: all."""
    command: tuple[str, ...]
    """The command line, without the program and the folders of files."""
    resumed: bool
    """Whether it took up rows that an interrupted run had left."""
    seconds: Percent
    """How long it took."""


class AbReceipt(Model):
    """Everything one `diffcheck ab` run established."""

    schema_name: Literal["diffcheck-ab/1"] = Field(default=SCHEMA, alias="schema")
    status: Literal["complete", "partial", "fails"]
    """complete: every row of the experiment was timed; partial: some were not measured; fails: a row failed parity."""
    tool: AbTool
    contract: Name
    experiment: ExperimentRecord
    host: HostFacts
    subjects: Subjects
    cuda_oxide_commit: Name | None
    """The cuda-oxide that compiled the Rust kernel, by the manifest."""
    ptxas: PtxasFacts | None
    """Null where the assembler is not installed."""
    gpu_users: GpuUsers
    selftest: SelfTest | SelfTestNotRun = Field(discriminator="status")
    rows: tuple[Row, ...] = Field(min_length=1)
    controls: tuple[Control, ...]
    parts: tuple[Part, ...] = Field(min_length=1)
    warnings: tuple[Name, ...]

    def comparisons(self) -> tuple[tuple[str, Comparison], ...]:
        """Return each comparison with the name of its row: of the rows that were timed, then of the controls."""
        timed = [(row.case.name, row.timing) for row in self.rows if row.timing]
        return (*timed, *((control.case, control.timing) for control in self.controls))

    @model_validator(mode="after")
    def _rows_are_the_experiments(self) -> Self:
        if self.experiment.name != self.experiment.content.name:
            raise ValueError(f"experiment.name: {self.experiment.name} contradicts {self.experiment.content.name}")
        asked = {row.name: row for row in experiment_rows(self.experiment.content)}
        names = [row.case.name for row in self.rows]
        if len(set(names)) < len(names):
            raise ValueError("rows: one is there twice")
        for row in self.rows:
            known = asked.get(row.case.name)
            if known is None:
                raise ValueError(f"rows: {row.case.name} is no row of the experiment")
            _require_same_call(row.case, known.baseline_case)
            if (row.baseline.arm, row.candidate.arm) != (known.baseline, known.candidate):
                raise ValueError(f"rows: {row.case.name} has other arms than the experiment")
            if row.relation != self.experiment.content.relation:
                raise ValueError(f"rows: {row.case.name} relates {row.relation}, and the experiment not")
        return self

    @model_validator(mode="after")
    def _status_follows_from_rows(self) -> Self:
        failed = any(row.status == "fails parity" for row in self.rows)
        whole = len(self.rows) == len(experiment_rows(self.experiment.content))
        expected = "fails" if failed else "complete" if whole else "partial"
        if self.status != expected:
            raise ValueError(f"status: {self.status} contradicts the rows, which say {expected}")
        return self

    @model_validator(mode="after")
    def _controls_are_of_its_rows(self) -> Self:
        rows = {row.case.name: row for row in self.rows}
        seen: set[tuple[str, str, float]] = set()
        for control in self.controls:
            row = rows.get(control.case)
            if row is None or row.timing is None:
                raise ValueError(f"controls: {control.case} is no row that was timed")
            if control.kv_len != row.case.kv_len:
                raise ValueError(f"controls: kv_len {control.kv_len} contradicts {control.case}")
            key = (control.kind, control.case, control.planted_percent)
            if key in seen:
                raise ValueError(f"controls: {control.kind} on {control.case} is there twice")
            seen.add(key)
        return self

    @model_validator(mode="after")
    def _rows_are_the_parts(self) -> Self:
        if any(part.rungs is None for part in self.parts):
            return self
        measured = {rung for part in self.parts for rung in part.rungs or ()}
        for row in self.rows:
            if row.case.kv_len not in measured:
                raise ValueError(f"parts: none measured {row.case.name}")
        return self

    @model_validator(mode="after")
    def _rows_are_of_one_device_and_build(self) -> Self:
        modules: dict[tuple[str, tuple[str, ...]], str] = {}
        profile = self.rows[0].baseline.plan.profile
        for row in self.rows:
            for side in (row.baseline, row.candidate):
                if side.plan.key.split("|")[0] != self.contract:
                    raise ValueError(f"contract: {self.contract} contradicts the plan {side.plan.key}")
                if side.plan.profile != profile:
                    raise ValueError(f"rows: planned for {profile} and for {side.plan.profile}")
                if modules.setdefault((side.arm, side.entries), side.ptx_sha256) != side.ptx_sha256:
                    raise ValueError(f"rows: {side.arm} ran two modules with {', '.join(side.entries)}")
        return self

    @model_validator(mode="after")
    def _peak_flags_follow_from_times(self) -> Self:
        peak = self.host.peak_memory_bytes_per_second
        for row in self.rows:
            expected = None
            if peak is not None and row.timing is not None:
                fastest = min(row.timing.baseline_us, row.timing.candidate_us)
                expected = row.kv_bytes / (fastest * 1e-6) > peak
            if row.above_peak != expected:
                raise ValueError(
                    f"rows: above_peak of {row.case.name} is {row.above_peak}, and the times say {expected}"
                )
        return self


def _require_same_call(stated: RowCase, asked: Case) -> None:
    """Raise `ValueError` where a row's inputs are of another shape or kind than the experiment's row of that name."""
    for field in _ASKED:
        said, expected = getattr(stated, field), getattr(asked, field)
        if said != expected:
            raise ValueError(f"rows: {field} of {stated.name} is {said}, and the experiment's is {expected}")


def ab_schema() -> dict[str, Any]:
    """Return the JSON Schema of an A/B receipt as it is written, its digest included."""
    schema = AbReceipt.model_json_schema(mode="serialization", by_alias=True)
    schema["properties"]["digest"] = {
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
        "description": "SHA-256 of the canonical JSON of everything else. It shows an edit and proves no origin.",
    }
    schema["required"] = [*schema["required"], "digest"]
    return schema
